"""A run beside a number of the paper is marked where its setting is another one."""

import dataclasses
import json

import pytest

from grpe_dgl.data.catalogue import CATALOGUE, schema_of
from grpe_dgl.data.store.manifest import Manifest
from grpe_dgl.recipe import load_recipe, shipped_recipes
from grpe_dgl.workflows.setting import data_differences, differences
from tests.cli.invoke import grpe_in
from tests.training.tiny import recipe, write_dataset


def manifest(dataset, **settings):
    """That of the published dataset, unless `settings` say otherwise; `splits` replaces its counts."""
    entry = CATALOGUE[dataset]
    splits = settings.pop("splits", dict(zip(entry.splits, entry.counts, strict=True)))
    return Manifest(
        schema=schema_of(dataset), origin="", settings={"dataset": dataset, **settings}, num_graphs=0, num_nodes=0,
        num_edges=0, num_pairs=0, max_nodes=0, num_rows=0, num_skipped=0, splits=splits, arrays={},
    )  # fmt: skip


def found(name, overrides=(), variant=None, **settings):
    chosen = load_recipe(name, overrides)
    chosen = chosen if variant is None else chosen.variant(variant)
    return differences(chosen, manifest(chosen.dataset, **settings), schema_of(chosen.dataset).task)


def test_nothing_differs_in_the_recipes_own_setting():
    for name in shipped_recipes():
        chosen = load_recipe(name)
        if chosen.dataset is not None:
            for variant in chosen.variants or [None]:
                row = chosen if variant is None else chosen.variant(variant)
                paper = row.paper
                expected = ["a configuration of ours"] if paper and paper.configuration == "ours" else []
                expected += [paper.differs] if paper and paper.differs else []
                assert differences(row, manifest(row.dataset), schema_of(row.dataset).task) == expected
    assert found("zinc", {"training.seed": 7, "description": "x"}) == []


def test_changed_keys_and_fewer_epochs():
    assert found("cluster", {"training.epochs": 20, "model.layers": 3, "training.runs": 1}) == [
        "model.layers 3 instead of 12",
        "training.epochs 20 instead of 100",
        "training.runs 1 instead of 5",
    ]
    assert found("zinc", {"training.epochs": 2, "training.warmup_epochs": 0, "training.weight_decay": 0.0}) == [
        "training.epochs 2 instead of none",
        "training.updates none instead of 400000",
        "training.warmup_epochs 0 instead of none",
        "training.warmup_updates none instead of 40000",
        "training.weight_decay 0 instead of 0.001",
    ]
    assert found("zinc_sharing", {"training.clip": 1.0}, "not_shared") == ["training.clip 1 instead of none"]


def test_generated_partial_and_other_data():
    assert found("pattern", generate=True) == ["generated graphs"]
    few = {"train": 100, "valid": 2000, "test": 20}
    assert found("pattern", generate=True, splits=few) == [
        "generated graphs",
        "train 100 of 10,000 graphs",
        "test 20 of 2,000 graphs",
    ]
    assert data_differences(manifest("molhiv", splits={"train": 10, "valid": 4113, "test": 4113}), "ogbg-molhiv") == [
        "train 10 of 32,901 graphs"
    ]
    assert data_differences(manifest("zinc"), "pcqm4m") == ["the dataset zinc instead of pcqm4m"]
    assert data_differences(manifest("zinc"), "solubility") == []


def test_a_number_is_compared_with_the_shipped_recipe_that_quotes_it():
    """A copy of a recipe with other keys still has the paper's number."""
    copy = dataclasses.replace(load_recipe("zinc", {"training.batch_size": 64}), description="mine")
    task = schema_of("zinc").task
    assert differences(copy, manifest("zinc"), task, written=copy) == ["training.batch_size 64 instead of 256"]
    own = recipe(paper={"table": "mine", "metric": "test MAE", "value": "1"}, training__epochs=2)
    assert differences(own, manifest("zinc"), task) == []
    written = own.override({"training.epochs": 9})
    assert differences(own, manifest("zinc"), task, written) == ["training.epochs 2 instead of 9"]
    assert differences(dataclasses.replace(own, paper=None), manifest("zinc"), task, written) == []


def test_from_scratch_instead_of_a_trained_model():
    assert found("molhiv", {"start_from": None}) == ["starts from scratch instead of pcqm4m"]
    assert found("zinc", {"start_from": "a.ckpt"}) == ["starts from a.ckpt instead of scratch"]


def test_numbers_of_the_paper_are_quoted_once():
    chosen = [load_recipe(name) for name in shipped_recipes() if not name.startswith("table_")]
    papers = [each.paper for each in chosen]
    papers += [variant.paper for each in chosen for variant in each.variants.values()]
    numbers = [(paper.table, *paper.numbers.items()) for paper in papers if paper is not None and paper.numbers]
    assert len(numbers) == len(set(numbers)) == 18


@pytest.mark.slow
def test_the_command_marks_its_table(tmp_path):
    """Generated PATTERN, one epoch of a smaller model: on the screen, in table.md and in summary.json."""
    grpe_in(tmp_path, "preprocess", "pattern", "--generate", "--graphs", "4,2,2")
    output = grpe_in(tmp_path, "train", "pattern_tiny", "--epochs", 1, "--runs", 1, "--set", "model.layers=1",
                     "--batch-size", 2)  # fmt: skip
    table = (tmp_path / "runs/pattern_tiny/table.md").read_text()
    assert table in output
    head, _, row, _, note = table.splitlines()
    assert head.startswith(
        "| runs | parameters | train sbm_accuracy | valid sbm_accuracy | test sbm_accuracy | paper |"
    )
    assert row.endswith("| 83.105 ± 0.045 % (test weighted accuracy) [1] |")
    assert note == (
        "[1] not the setting of the paper's number: model.layers 1 instead of 4; training.batch_size 2 instead of 32; "
        "training.epochs 1 instead of 100; training.runs 1 instead of 5; training.warmup_epochs 0 instead of 5; "
        "generated graphs; train 4 of 10,000 graphs; valid 2 of 2,000 graphs; test 2 of 2,000 graphs"
    )
    (saved,) = json.loads((tmp_path / "runs/pattern_tiny/summary.json").read_text())["rows"]
    assert len(saved["differs"]) == 9 and saved["parameters"] == int(row.split("|")[2].replace(",", ""))
    resumed = grpe_in(tmp_path, "train", "pattern_tiny", "--epochs", 1, "--runs", 1, "--set", "model.layers=1",
                      "--batch-size", 2, "--resume")  # fmt: skip
    assert note in resumed


@pytest.mark.slow
def test_a_file_of_ones_own_is_compared_with_itself_as_written(tmp_path):
    write_dataset(tmp_path / "data" / "tiny", "regression")
    own = recipe(paper={"table": "mine", "metric": "test MAE", "value": "1"})
    (tmp_path / "own.yaml").write_text(own.to_yaml())
    assert "instead of" not in grpe_in(tmp_path, "train", "own.yaml", "--out", "a")
    assert "number: training.clip 2 instead of 1\n" in grpe_in(
        tmp_path, "train", "own.yaml", "--out", "b", "--set", "training.clip=2.0"
    )
