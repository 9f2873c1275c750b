"""A handful of molecules is predicted without DGL and numba, with the numbers that both give."""

import csv
import dataclasses
import io
import json
import subprocess
import sys

import numpy as np
import pytest

from grpe_dgl.data.domain import TrainingDomain
from grpe_dgl.data.molecules.arrays import read_molecules
from grpe_dgl.data.molecules.morgan import morgan_fingerprints
from grpe_dgl.inference.calibration import Calibration, ClassErrors, NumberErrors
from grpe_dgl.transforms import shortest_paths
from tests import trained
from tests.cli.invoke import invoke

MOLECULES = ["CCO", "C(", "CC(=O)[O-].[Na+]", "c1ccc2ccccc2c1", "C[C@H](N)C(=O)O", "N"]
PROGRAM = """
import json, sys
from click.testing import CliRunner
from grpe_dgl_cli.main import main
found = []
for words in json.load(sys.stdin):
    result = CliRunner().invoke(main, words)
    found.append((result.exit_code, result.stdout, result.stderr))
loaded = [name for name in ("dgl", "numba", "scipy", "pandas", "torch._dynamo") if name in sys.modules]
print(json.dumps([loaded, found]))
"""
GRAPHORMER = {"name": "graphormer", "layers": 1, "hidden_size": 16, "ffn_size": 16, "num_heads": 2,
              "path_edges": 3}  # fmt: skip


def run_folder(path, checkpoints, **calibration):
    """Write what a finished run of several models and their calibration leaves."""
    path.mkdir()
    names = [f"seed-{seed}.ckpt" for seed in range(len(checkpoints))]
    for name, checkpoint in zip(names, checkpoints, strict=True):
        checkpoint.save(path / name)
    Calibration(method="split", split="random", models=names, rows=40, **calibration).write(path)
    return path


@pytest.fixture(scope="module")
def commands(tmp_path_factory):
    folder = tmp_path_factory.mktemp("few")
    descriptors = {"model.descriptors": "rdkit", "model.head_sizes": [8]}
    domain = TrainingDomain(morgan_fingerprints(["CCO"])[0], 1, frozenset({5, 7}), (1, 5), frozenset({0}))
    plain = folder / "plain.ckpt"
    dataclasses.replace(trained.checkpoint(overrides=descriptors), domain=domain).save(plain)
    standard = dataclasses.replace(trained.molecule_schema(), standardised_molecules=True)
    trained.save(folder / "standard.ckpt", schema=standard, overrides=descriptors)
    trained.save(folder / "classes.ckpt", trained.CLASSES)
    trained.checkpoint_of(GRAPHORMER).save(folder / "graphormer.ckpt")
    errors = [i / 40 for i in range(40)]
    numbers = run_folder(
        folder / "numbers", [trained.checkpoint(seed=0)], numbers=[NumberErrors(errors=errors, mean_square_spread=0.0)]
    )
    target = ClassErrors(temperature=1.5, shift=[0.0, 0.3], errors=[errors, errors], calibration_error=0.2,
                         calibration_error_after=0.1)  # fmt: skip
    classes = run_folder(folder / "binary", [trained.checkpoint(trained.BINARY)], classes=[target, target])
    (folder / "t.csv").write_text("name;SMILES\n" + "".join(f"m;{text}\n" for text in MOLECULES))
    return [
        [*map(str, words)]
        for words in (
            ("predict", plain, *MOLECULES, "--domain"),
            ("predict", plain, folder / "standard.ckpt", folder / "t.csv"),
            ("predict", folder / "standard.ckpt", folder / "t.csv"),
            ("predict", folder / "classes.ckpt", *MOLECULES),
            ("predict", folder / "graphormer.ckpt", *MOLECULES),
            ("predict", numbers / "seed-0.ckpt", *MOLECULES, "--interval", "0.9"),
            ("predict", classes / "seed-0.ckpt", *MOLECULES, "--interval", "0.9"),
        )
    ]


def test_numbers_and_what_is_loaded(commands):
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], input=json.dumps(commands), capture_output=True, text=True, check=True
    )
    loaded, found = json.loads(done.stdout)
    assert loaded == []
    for words, (code, text, said) in zip(commands, found, strict=True):
        expected = invoke(*words)  # in a process that has loaded DGL
        assert code == expected.exit_code and said == expected.stderr, said
        if code:
            continue
        rows, wanted = (list(csv.reader(io.StringIO(output))) for output in (text, expected.stdout))
        assert rows[0] == wanted[0] and len(rows) == len(MOLECULES) + 1
        for row, other in zip(rows[1:], wanted[1:], strict=True):
            for cell, same in zip(row, other, strict=True):
                assert cell == same or float(cell) == pytest.approx(float(same), rel=1e-5, abs=1e-6)
    assert [code for code, _, _ in found] == [0, 1, 0, 0, 0, 0, 0]  # one of two models standardises


def test_distances_without_numba_are_those_of_the_kernel(monkeypatch):
    smiles = [*MOLECULES, "CC(C)(C)c1cc2c(cc1)OCO2", "C" * 90, "C.C.O"]
    kernel = read_molecules(smiles)[1].distance
    monkeypatch.setattr(shortest_paths, "worth_loading", lambda size, few: False)
    np.testing.assert_array_equal(read_molecules(smiles)[1].distance, kernel)


@pytest.mark.parametrize("undirected", [True, False])
def test_directed_and_duplicate_edges_without_numba(monkeypatch, undirected):
    generator = np.random.default_rng(0)
    sizes, edges = np.array([7, 1, 12, 5]), np.array([9, 0, 15, 4])
    src, dst = (np.concatenate([generator.integers(0, n, m) for n, m in zip(sizes, edges, strict=True)]) for _ in "ab")
    offsets = [np.concatenate([[0], np.cumsum(counts)]) for counts in (sizes, edges)]
    for limit in (2, 253):
        found = []
        for kernel in (True, False):
            monkeypatch.setattr(shortest_paths, "worth_loading", lambda size, few, kernel=kernel: kernel)
            found.append(shortest_paths.all_pairs_distances(*offsets, src, dst, limit=limit, undirected=undirected))
        np.testing.assert_array_equal(*found)
