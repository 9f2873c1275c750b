"""Damaged processed datasets: an InputError or a dataset that can be read, never a crash of the process."""

import collections
import json
import subprocess
import sys
from pathlib import Path

import pytest

import grpe_dgl.data
from grpe_dgl.checkpoint.build import build_model
from grpe_dgl.checkpoint.file import Checkpoint
from tests.fuzz.effort import LONG, SEED, effort, report
from tests.training.tiny import recipe, write_dataset

ROOT = Path(__file__).resolve().parents[2]


def outcomes(source, kind, count=0):
    """Return what every mutation gave; after a crash a new process goes on with the mutation that follows."""
    gave = {}
    while True:
        arguments = [str(source), kind, str(count), str(SEED), str(len(gave))]
        process = subprocess.run(
            [sys.executable, "-m", "tests.fuzz.use_dataset", *arguments], cwd=ROOT, capture_output=True, text=True
        )
        for line in map(json.loads, process.stdout.splitlines()):
            if "start" in line:
                what = line["start"]
                gave[what] = f"signal {-process.returncode}"
            else:
                gave[what] = line["end"]
        if process.returncode >= 0:
            assert process.returncode == 0, process.stderr
            return gave


def check(gave, title):
    report(title, collections.Counter(outcome.split(":")[0] for outcome in gave.values()))
    assert {what: outcome for what, outcome in gave.items() if outcome not in ("InputError", "read")} == {}
    return gave


@pytest.fixture(scope="module", params=["regression", "multiclass"] if LONG else ["regression"])
def source(request, tmp_path_factory):
    return write_dataset(tmp_path_factory.mktemp("source") / "tiny", request.param)


def test_random_damage(source):
    check(outcomes(source, "random", effort(100, 1000)), f"datasets, random, {source.parent.name}")


def test_every_array_damaged_in_every_way(source):
    gave = check(outcomes(source, "directed"), f"datasets, directed, {source.parent.name}")
    for name in ("node_offsets", "edge_offsets", "pair_offsets"):
        for what in ("middle item all ones", "shifted by one item", "backwards", "as int8", "as int64, all -1"):
            assert gave[f"{name}: {what}"] == "InputError"
    for what in ("src: as int8, all -1", "dst: as int64, all -1", "distance: as uint16", "edge_type: all ones"):
        assert gave[what] == "InputError"


@pytest.mark.skipif(not LONG, reason="takes a minute; GRPE_FUZZ=long runs it")
def test_every_key_of_the_manifest(source):
    check(outcomes(source, "manifest"), f"datasets, manifest, {source.parent.name}")


def test_commands(source):
    """One in seventeen of the mutations of arrays and manifest, with the commands that read a dataset."""
    data = grpe_dgl.data.load(source)
    chosen = recipe().fit_to_task(data.task)
    weights = build_model(chosen.model, data.schema).state_dict()
    Checkpoint(recipe=chosen, schema=data.schema, weights=weights).save(source.parent / "model.ckpt")
    check(outcomes(source, "mixed"), f"datasets, commands, {source.parent.name}")
