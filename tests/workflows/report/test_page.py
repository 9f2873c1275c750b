"""The report as text, and in a browser."""

import json
import re

import numpy as np
import pytest

import grpe_dgl
from grpe_dgl.errors import InputError
from grpe_dgl.training.predictions import Predictions
from grpe_dgl.workflows.report.charts import _confusion
from tests.browser import ARGUMENTS, CONTRASTS, Opened, executable
from tests.workflows.compare.run_folders import write_run
from tests.workflows.report.molecule_run import HOSTILE, HOSTILE_SMILES, write_dataset, write_molecule_run

NUMBER = {"table": "T <i>", "metric": "test RMSE", "value": "0.5 <u>"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """``runs/a`` (two seeds), ``runs/b`` (unfinished) and ``page.html`` about both."""
    folder = tmp_path_factory.mktemp("report")
    dataset = write_dataset(folder)
    setting = {"differs": ["training.epochs 3 instead of <b>9</b>"], "runs": 1}
    for seed in (0, 1):
        write_molecule_run(folder / f"runs/a/seed-{seed}", dataset, seed=seed, paper=NUMBER, setting=setting)
    write_run(folder / "runs/b")
    (folder / "runs/b/results.json").unlink()
    grpe_dgl.report(folder / "runs", folder / "page.html")
    return folder


@pytest.fixture(scope="module")
def browser():
    path = executable()
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=list(ARGUMENTS))
        yield browser
        browser.close()


@pytest.fixture
def opened(browser, folder, request):
    context = browser.new_context(**getattr(request, "param", {}))
    yield Opened(context.new_page(), folder / "page.html")
    context.close()


def results_of(folder, seed):
    return json.loads((folder / f"runs/a/seed-{seed}/results.json").read_text())


def test_page_is_complete_and_hostile_names_stay_text(opened, folder):
    page = opened.page
    assert opened.messages == [] and opened.outside == []
    assert page.evaluate("window.hacked") is None and page.locator("main script, main img[src='x']").count() == 0
    shown = page.inner_text("body")
    assert HOSTILE in shown and HOSTILE_SMILES in shown and "0.5 <u> (test RMSE)" in shown and "2 <b>" in shown
    for title in ("Comparison", "What was trained, and on what", "Results", "Training",
                  "Predictions for the split test", "Best and worst predictions of the split test",
                  "Attention", "Hardware and versions"):  # fmt: skip
        assert page.locator(f"h2:text-is('{title}'), h3:text-is('{title}')").count() == 1
    assert "training.epochs 3 instead of <b>9</b>" in shown and "another setting" in shown
    assert "it is not finished: it has 3 completed epochs and no results.json" in shown
    assert page.locator(".molecule svg path").count() > 20
    assert (folder / "page.html").stat().st_size < 1_000_000


def test_numbers_on_the_page_are_those_of_the_results(opened, folder):
    """The page shows the run with the best validation metric, and the mean over both."""
    every = [results_of(folder, seed)["splits"] for seed in (0, 1)]
    best = min(every, key=lambda splits: splits["valid"])
    for split in ("valid", "test"):
        row = opened.page.locator(f"table:has(th:text-is('split')) tr:has(th:text-is('{split}')) data")
        values = [float(row.nth(place).get_attribute("value")) for place in range(row.count())]
        assert values == pytest.approx([best[split], sum(splits[split] for splits in every) / 2], rel=1e-12)
        assert f"{best[split]:.4f}" in opened.page.inner_text(".big")


def test_hover_and_keys_show_values(opened):
    page = opened.page
    chart = page.locator("figure:has(h4:text-is('validation rmse')) svg[data-tips]").last
    chart.scroll_into_view_if_needed()
    x, y, _ = json.loads(chart.get_attribute("data-tips"))[0]
    box = chart.bounding_box()
    scale = box["width"] / 440
    assert not page.locator("#tip").is_visible()
    page.mouse.move(box["x"] + x * scale + 3, box["y"] + y * scale + 3)
    assert page.inner_text("#tip") == "epoch 1\n0.9123"
    page.mouse.move(0, 0)
    assert not page.locator("#tip").is_visible()
    chart.focus()
    page.keyboard.press("ArrowRight")
    assert page.inner_text("#tip") == "epoch 2\n0.7000"


def test_slider_moves_through_the_layers(opened):
    page = opened.page
    slider = page.locator(".attention input")
    assert (slider.get_attribute("min"), slider.get_attribute("max")) == ("1", "3")
    shown = []
    for _ in range(3):
        sources = page.eval_on_selector_all(".map img.shown", "images => images.map(image => image.src)")
        assert len(sources) == page.locator(".map").count()
        shown.append((page.inner_text(".attention output"), *sources))
        slider.press("ArrowRight")
    assert [each[0] for each in shown] == ["layer 1 of 3", "layer 2 of 3", "layer 3 of 3"]
    assert len({each[1] for each in shown}) == 3
    weights = json.loads(page.locator(".map").first.get_attribute("data-weights"))
    n = int(len(weights[0]) ** 0.5)
    assert all(abs(sum(layer[i * n : (i + 1) * n]) - 1000) <= n for layer in weights for i in range(n))


@pytest.mark.parametrize(
    "opened",
    [{"color_scheme": scheme, "viewport": {"width": width, "height": 800}} for scheme, width in
     (("light", 1280), ("dark", 390))],
    indirect=True,
    ids=["light wide", "dark narrow"],
)  # fmt: skip
def test_every_text_is_readable_and_the_page_is_not_wider_than_the_screen(opened):
    found = opened.page.evaluate(CONTRASTS)
    assert len(found) > 100
    assert [each for each in found if each[0] < 4.5] == []
    assert opened.page.evaluate("document.documentElement.scrollWidth <= innerWidth")


@pytest.mark.parametrize(
    "opened",
    [{"viewport": {"width": width, "height": 800}} for width in (1280, 375)],
    indirect=True,
    ids=["wide", "phone"],
)
def test_labels_of_every_chart_are_large_enough_to_read(opened):
    sizes = opened.page.eval_on_selector_all(
        ".chart", "found => found.filter(c => c.getClientRects().length)"
        ".map(c => 13.5 * c.getBoundingClientRect().width / c.viewBox.baseVal.width)",
    )  # fmt: skip
    assert min(sizes) > 8.5
    overlay = opened.page.locator("#comparison .chart:visible")
    assert overlay.count() == 1


@pytest.mark.parametrize(("classes", "width"), [(2, "card"), (3, "card double"), (5, "card double"), (6, "card wide")])
def test_a_confusion_matrix_is_as_wide_as_its_classes_need(classes, width):
    matrix = _confusion(
        "confusion",
        np.eye(classes, dtype=np.int64),
        [f"{k}" if classes == 2 else f"community {k}" for k in range(classes)],
    )
    assert matrix.startswith(f'<figure class="{width}">')


def test_one_run_has_no_comparison_and_no_dataset_is_said(folder, tmp_path):
    write_molecule_run(tmp_path / "run", folder / "data/table")
    results = json.loads((tmp_path / "run/results.json").read_text())
    results["data"]["folder"] = str(tmp_path / "gone")
    results["data"]["task"] = None
    (tmp_path / "run/results.json").write_text(json.dumps(results))
    page = grpe_dgl.report(tmp_path / "run")
    assert 'id="comparison"' not in page and "the dataset cannot be read" in page and "<h3>Attention" not in page
    again = grpe_dgl.report(tmp_path / "run", dataset=folder / "data/table")
    assert "Not shown" not in again and "<h3>Attention" in again
    other = write_dataset(tmp_path / "other", labels=list(range(1, 11)))
    assert "is not the data of the run: the labels differ" in grpe_dgl.report(tmp_path / "run", dataset=other)


@pytest.mark.parametrize("file", ["predictions_test.npz", "best.ckpt", "metrics.csv", "recipe.yaml"])
def test_missing_and_damaged_files_leave_their_part_out(folder, tmp_path, file):
    write_molecule_run(tmp_path / "run", folder / "data/table")
    (tmp_path / "run" / file).write_bytes(b"damaged")
    damaged = grpe_dgl.report(tmp_path / "run")
    (tmp_path / "run" / file).unlink()
    missing = grpe_dgl.report(tmp_path / "run")
    for page in (damaged, missing):
        assert page.endswith("</html>\n") and "Hardware and versions" in page
        assert ("<h3>Attention" in page) == (file not in ("best.ckpt",))
    if file.startswith("predictions"):
        assert "Predictions for the split valid" in missing and "is damaged" in damaged


TASKS = {
    "binary": ({"level": "graph", "kind": "binary", "targets": ["a", "b"], "metric": "rocauc"},
               np.array([[1, 0], [0, 0], [1, np.nan], [0, 0]], np.float32),
               ["a: ROC curve", "a: precision and recall", "a: calibration", "a: confusion at probability 0.5",
                "all labels of the split are of one class"]),
    "classes": ({"level": "graph", "kind": "multiclass", "targets": ["c"], "classes": ["x", "y<"],
                 "metric": "accuracy"}, np.array([0, 1, 1, -1]), ["confusion", "y&lt;", "calibration"]),
    "nodes": ({"level": "node", "kind": "multiclass", "targets": ["c"], "classes": ["x", "y"],
               "metric": "weighted_accuracy"}, np.array([0, 1, 1, -1]),
              ["2 of 2 nodes correct", "1 of 1 nodes correct", "confusion"]),
}  # fmt: skip


@pytest.mark.parametrize("name", TASKS)
def test_charts_fit_the_task(tmp_path, name):
    task, labels, expected = TASKS[name]
    run = write_run(tmp_path / "run", metric=task["metric"], data={"task": task, "arrays": {"label": "1"}})
    logits = np.array([[2.0, -1.0], [-3.0, 0.5], [0.1, 0.2], [900.0, -900.0]], np.float32)
    index = np.array([4, 4, 7, 9]) if name == "nodes" else np.array([4, 5, 7, 9])
    node = np.array([0, 1, 0, 0]) if name == "nodes" else None
    Predictions(index, node, logits, labels).write(run / "predictions_test.npz")
    page = grpe_dgl.report(run)
    for text in expected:
        assert text in page
    assert "predicted against true" not in page


def test_named_classes_and_the_chosen_threshold_are_on_the_page(tmp_path):
    task = {"level": "graph", "kind": "binary", "targets": ["a"], "positive": ["toxic"], "negative": ["safe"],
            "metric": "rocauc"}  # fmt: skip
    run = write_run(tmp_path / "run", metric="rocauc", data={"task": task, "arrays": {"label": "1"}})
    results = json.loads((run / "results.json").read_text())
    (run / "results.json").write_text(json.dumps({**results, "thresholds": {"a": 0.2}}))
    logits = np.array([[-1.0], [-3.0], [2.0]], np.float32)  # probabilities 0.27, 0.05, 0.88
    Predictions(np.arange(3), None, logits, np.array([[0], [0], [1]], np.float32)).write(run / "predictions_test.npz")
    page = grpe_dgl.report(run)
    assert "confusion at probability 0.2" in page and '<th scope="row">safe</th><td' in page
    row = page[page.index('<th scope="row">safe</th>') :].split("</tr>")[0]
    assert re.findall(r">(\d+)<small>", row) == ["1", "1"]  # of two safe ones, one is above the threshold


def test_predictions_that_are_not_numbers(tmp_path):
    task = {"level": "graph", "kind": "regression", "targets": ["a"], "metric": "mae"}
    run = write_run(tmp_path / "run", test=float("nan"), curve=("nan", 0.5), data={"task": task})
    values = np.array([[np.nan], [np.inf]], np.float32)
    Predictions(np.arange(2), None, values, np.ones((2, 1), np.float32)).write(run / "predictions_test.npz")
    assert "nan" in grpe_dgl.report(run)


def test_page_leaves_out_details_rather_than_grow_without_limit(tmp_path, monkeypatch):
    for layers in (1, 2, 3):
        write_run(tmp_path / f"r{layers}", name=f"m{layers}", overrides={"model__layers": layers}, test=0.1 * layers)
    monkeypatch.setattr("grpe_dgl.workflows.report.page.MOST_BYTES", 10)
    page = grpe_dgl.report(tmp_path)
    assert "The page would become too large: no details of m2, m3." in page
    assert re.findall(r'id="run-(\d)"', page) == ["1"]


def test_errors(tmp_path):
    write_run(tmp_path / "run")
    with pytest.raises(InputError, match="accepted: a name that ends in .html"):
        grpe_dgl.report(tmp_path / "run", tmp_path / "page.pdf")
    with pytest.raises(InputError, match="no finished run to compare"):
        grpe_dgl.report(tmp_path / "none", tmp_path / "page.html")
    assert not (tmp_path / "page.html").exists()


JUNK = ["<b>", -1, 1e400, [1], {"a": {"b": [None]}}, True, None, {"folder": 3, "arrays": [1], "task": "x", "graphs": 4},
        {"differs": "text", "runs": "x"}, {"threads": "many", "memory_bytes": "x", "processes": [2]},
        {"table": 3, "metric": 4, "values": 5}, {"of": 1}]  # fmt: skip


@pytest.mark.slow
def test_results_of_any_content_are_shown_or_refused(tmp_path):
    """A results.json that was edited or damaged is never a crash of the command."""
    run = write_run(tmp_path / "run")
    good = json.loads((run / "results.json").read_text())
    refused = 0
    for key in [*good, "versions", "peak_memory"]:
        for junk in JUNK:
            (run / "results.json").write_text(json.dumps({**good, key: junk}))
            try:
                assert grpe_dgl.report(run).endswith("</html>\n")
                grpe_dgl.compare(run).to_json()
            except InputError as error:
                refused += 1
                assert "broken" in str(error)
    assert refused > 50
