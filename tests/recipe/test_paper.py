"""The numbers of the recipes are those of the paper's tables: the LaTeX source is parsed where it is at hand."""

import functools
import re
from pathlib import Path

import pytest

from grpe_dgl.errors import InputError
from grpe_dgl.objectives import METRICS
from grpe_dgl.recipe import Paper, Recipe, load_recipe, recipe_text, shipped_recipes
from tests.conftest import SHARED

# Where each number stands: recipe and variant to row of the table and, by the recipe's metric, column.
SMALL, STANDARD, LARGE = "GRPE-Small (Ours)", "GRPE-Standard (Ours)", "GRPE-Large (Ours)"
COMPONENTS = {
    "none": "- - -",
    "topology": "✓ - -",
    "edge": "- ✓ -",
    "value": "- - ✓",
    "topology_edge": "✓ ✓ -",
    "all": "✓ ✓ ✓",
}
PLACES = {
    ("zinc", None): (SMALL, {"test MAE": "MAE"}),
    ("molhiv", None): (STANDARD, {"test AUC": "AUC (%)"}),
    ("molpcba", None): (STANDARD, {"test AP": "AP (%)"}),
    ("molpcba_large", None): (LARGE, {"test AP": "AP (%)"}),
    ("pattern_tiny", None): ("GRPE (Ours)", {"test weighted accuracy": "≈100k"}),
    ("pattern", None): ("GRPE (Ours)", {"test weighted accuracy": "≈500k"}),
    ("cluster", None): (SMALL, {"test weighted accuracy": "Weighted Accuracy"}),
    ("pcqm4m", None): (STANDARD, {"train MAE": "Train MAE", "validation MAE": "Validate MAE"}),
    ("pcqm4mv2", None): (STANDARD, {"validation MAE": "Validate MAE", "test-dev MAE": "Test-dev MAE"}),
    ("pcqm4mv2_large", None): (LARGE, {"validation MAE": "Validate MAE"}),
    ("zinc_sharing", "shared"): ("yes", {"test MAE": "MAE"}),
    ("zinc_sharing", "not_shared"): ("no", {"test MAE": "MAE"}),
    **{("zinc_components", name): (row, {"test MAE": "Test MAE"}) for name, row in COMPONENTS.items()},
}


@functools.cache
def _papers() -> dict[tuple[str, str | None], Paper]:
    papers = {}
    for name in shipped_recipes():
        if name.startswith("table_"):
            continue  # tests/recipe/test_tables.py
        recipe = load_recipe(name)
        for variant, paper in [(None, recipe.paper), *((key, row.paper) for key, row in recipe.variants.items())]:
            if paper is not None:
                papers[name, variant] = paper
    return papers


@pytest.fixture(scope="module")
def tables() -> dict[str, list[list[str]]]:
    """The rows of every table by the first sentence of its caption, and the captions of figures with no rows."""
    source = SHARED / "paper" / "grpe.tex"
    if not source.is_file():
        pytest.skip("the paper's source is not beside the project")
    text = re.sub(r"(?<!\\)%.*", "", source.read_text(encoding="utf-8"))
    found = {}
    for kind, body in re.findall(r"\\begin\{(table|figure)\*?\}(.*?)\\end\{\1\*?\}", text, flags=re.DOTALL):
        caption = re.search(r"\\caption\s*\{(.*?)\}\s*\n", body, flags=re.DOTALL)
        title = re.split(r"\.\s", _plain(caption[1]) + " ")[0]
        rows = [[_plain(cell) for cell in row.split("&")] for row in body.split(r"\\")] if kind == "table" else []
        found[title] = rows
    return found


def _plain(latex: str) -> str:
    """Return a cell without its commands: numbers, ± and words."""
    latex = latex.split(r"\toprule")[-1]
    for command, sign in ((r"\pm", " ± "), (r"\checkmark", "✓"), (r"\approx", "≈"), (r"\%", "%")):
        latex = latex.replace(command, sign)
    latex = re.sub(r"~?\\cite[pt]?\s*\{[^}]*\}|\\hline|\\dagger|\\label\{[^}]*\}|\\vspace\{[^}]*\}", "", latex)
    latex = re.sub(r"\\multicolumn\{\d\}\{[^}]*\}", "", latex)
    latex = re.sub(r"\\[a-z]+|[{}$]|\^\*", "", latex)
    return " ".join(latex.split()).replace(" )", ")")


def test_every_number_has_its_place_in_the_paper():
    assert {key for key, paper in _papers().items() if paper.numbers} == set(PLACES)
    for key, (_, columns) in PLACES.items():
        assert list(_papers()[key].numbers) == list(columns), key


@pytest.mark.parametrize(("recipe", "variant"), PLACES)
def test_numbers_are_those_of_the_paper(tables, recipe, variant):
    paper, (label, columns) = _papers()[recipe, variant], PLACES[recipe, variant]
    rows = tables[paper.table]
    width = 3 if recipe == "zinc_components" else 1  # its rows are labelled by three columns
    (row,) = [row for row in rows if " ".join(row[:width]) == label]
    for metric, value in paper.numbers.items():
        (place,) = {row.index(columns[metric]) for row in rows if columns[metric] in row}
        assert row[place] == value.removesuffix(" %"), (recipe, variant, metric)


def test_a_table_with_a_number_in_percent_is_marked_so(tables):
    for key, (_, columns) in PLACES.items():
        for metric, value in _papers()[key].numbers.items():
            percent = "(%)" in columns[metric] or "accuracy" in metric
            assert value.endswith(" %") == percent, key


def test_figures_have_no_numbers(tables):
    paper = _papers()["molhiv_distance", "L1"]
    assert paper.numbers == {} and paper.table == "Effects of the maximum shortest path distance L"
    assert tables[paper.table] == []


def test_no_model_of_the_paper_is_left_out(tables):
    """Every row of ours in a table of results has a recipe."""
    ours = sorted(row[0] for rows in tables.values() for row in rows if row[0].endswith("(Ours)"))
    named = {(_papers()[key].table, label) for key, (label, _) in PLACES.items() if label.endswith("(Ours)")}
    assert ours == sorted(label for _, label in named)


def test_every_quoted_number_is_in_the_recipes_comment():
    for (name, _), paper in _papers().items():
        comment = recipe_text(name).split("description:")[0].replace("\n# ", " ")
        assert f'"{paper.table}"' in comment
        for value in paper.numbers.values():
            assert value in comment


def test_no_comment_is_about_verification():
    for name in shipped_recipes():
        text = recipe_text(name).lower()
        assert "verif" not in text and "our reading" not in text and "confirmed" not in text, name


def test_differences_between_the_paper_and_the_authors_scripts_are_in_the_comments():
    molpcba = recipe_text("molpcba").replace("\n#  ", "").replace("\n# ", " ")
    assert (
        "The paper has a peak of 2e-4, pcba.sh 3e-4" in molpcba
        and load_recipe("molpcba").training.learning_rate == 3e-4
    )
    for name, asked in (("molpcba", "0.3"), ("molhiv", "0.0")):
        text = recipe_text(name).replace("\n#  ", "").replace("\n# ", " ")
        assert f"asks for an attention dropout of {asked}, but gpp.py does not pass it on" in text
        assert "graphs of more than 128 nodes" in text
        assert load_recipe(name).model.attention_dropout == 0.1


def test_weighted_accuracy_beside_the_papers_number_is_the_benchmarks():
    for name, paper in ((key[0], paper) for key, paper in _papers().items()):
        expected = {"test weighted accuracy": "sbm_accuracy"}.get(str(paper.metric))
        assert expected is None or load_recipe(name).training.metric == expected, name


def test_one_number_or_several():
    several = Paper(table="t", values={"train MAE": "1", "test MAE": "2"})
    assert several.numbers == {"train MAE": "1", "test MAE": "2"} and several.text() == "1 (train MAE), 2 (test MAE)"
    assert Paper(table="t", metric="m").numbers == {} and Paper(table="t", metric="m").text() == ""
    base = {"model": {"preset": "tiny"}, "training": {"batch_size": 1, "epochs": 1}}
    for wrong, found in (
        ({}, "neither is given"),
        ({"metric": "m", "values": {"m": "1"}}, "both are given"),
        ({"value": "1", "values": {"m": "1"}}, "both are given"),
    ):
        with pytest.raises(InputError, match=f"paper.values: {found}; accepted: metric and value for one number"):
            Recipe.from_dict({**base, "paper": {"table": "t", **wrong}})
    with pytest.raises(InputError, match=r"paper.values.m is 0.1 \(a number\); accepted: a text; put it in quotes"):
        Recipe.from_dict({**base, "paper": {"table": "t", "values": {"m": 0.1}}})


PAGE = Path(__file__).parents[2] / "docs" / "paper.md"


def test_the_page_has_every_table_and_figure_with_its_recipe_and_numbers(tables):
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in PAGE.read_text().splitlines() if "|" in line]
    by_recipe = {row[2].strip("`"): row for row in rows if len(row) == 4}
    numbered = list(tables)
    positions = {title: 1 + [t for t in numbered if tables[t]].index(title) for title in numbered if tables[title]}
    for (name, _), paper in _papers().items():
        if not paper.numbers:
            continue
        row = by_recipe[name]
        assert row[:2] == [str(positions[paper.table]), paper.table], name
        assert all(value in row[3] for value in paper.numbers.values()), name
    assert {row[0] for row in rows if row[0].isdigit()} >= {str(number) for number in range(1, 11)}


def test_files_recipes_and_keys_of_the_page_exist():
    text, root = PAGE.read_text(), PAGE.parents[1]
    words = set(re.findall(r"`([^`]+)`", text))
    files = {word for word in words if word.startswith("grpe_dgl/")}
    assert len(files) > 15 and all((root / file).exists() for file in files)
    recipe = load_recipe("zinc").to_dict()
    keys = {word.split(":")[0] for word in words if re.match(r"(model|training)\.[a-z_]+", word)} - {"model.preset"}
    for key in keys:
        section, name = key.split(".")
        assert name in recipe[section], key
    assert {name for name in shipped_recipes() if name not in words} == {
        "demo",
        "pretrain",
        "property",
        "zinc_cpu",
        "zinc_short",
    }
    metrics = {"rocauc", "ap", "mae", "sbm_accuracy"}
    assert metrics <= words and metrics <= set(METRICS)
