"""Two processes of half the batch are one of the whole: really run, with gloo."""

import json
import os
import socket
import subprocess
import sys

import numpy as np
import pytest
import torch

import grpe_dgl.data
from grpe_dgl.checkpoint.file import load_checkpoint
from grpe_dgl.errors import InputError
from grpe_dgl.training.distributed import device_of_process
from grpe_dgl.training.predictions import Predictions
from grpe_dgl.training.run import run
from tests.training.tiny import recipe, write_dataset

QUIET = {"model__dropout": 0.0, "model__attention_dropout": 0.0, "model__input_noise": 0.0}
PROGRAM = """
import sys
import torch
import grpe_dgl.data
from pathlib import Path
from grpe_dgl.recipe import load_recipe
from grpe_dgl.training.distributed import processes
from grpe_dgl.training.run import run
torch.set_num_threads(1)
with processes(torch.device("cpu")) as group:
    assert group.world_size == 2
    data = grpe_dgl.data.load(sys.argv[2])
    run(load_recipe(sys.argv[1]), data, Path(sys.argv[3]), processes=group, padded="padded" in sys.argv or None)
"""


def two_processes(program, *arguments):
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    environment = {**os.environ, "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "WORLD_SIZE": "2"}
    children = [
        subprocess.Popen(
            [sys.executable, *program, *map(str, arguments)],
            env={**environment, "RANK": str(rank), "LOCAL_RANK": str(rank)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank in range(2)
    ]
    try:
        outputs = [child.communicate(timeout=300) for child in children]
    finally:
        for child in children:
            child.kill()
            child.wait()
    for child, (_, errors) in zip(children, outputs, strict=True):
        assert child.returncode == 0, errors
    return outputs


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["regression", "binary", "multiclass"])
def test_two_processes_equal_one(kind, tmp_path):
    path = write_dataset(tmp_path / "data", kind, count=27)  # 19 to train on: the last batch is uneven
    loss = {"training__loss": "weighted_cross_entropy", "training__metric": "sbm_accuracy"}
    loss = loss if kind == "multiclass" else {}
    settings = recipe(**QUIET, **loss)
    one = run(settings, grpe_dgl.data.load(path), tmp_path / "one")
    (tmp_path / "recipe.yaml").write_text(settings.to_yaml())
    two_processes(["-c", PROGRAM], tmp_path / "recipe.yaml", path, tmp_path / "two")
    saved = [load_checkpoint(tmp_path / name / "last.ckpt") for name in ("one", "two")]
    for name, tensor in saved[0].weights.items():
        torch.testing.assert_close(saved[1].weights[name], tensor, rtol=1e-4, atol=1e-5)
    losses = [[row["train_loss"] for row in checkpoint.training["history"]] for checkpoint in saved]
    assert losses[1] == pytest.approx(losses[0], rel=1e-4)
    metrics = [[row[f"valid_{one['metric']}"] for row in checkpoint.training["history"]] for checkpoint in saved]
    assert metrics[1] == pytest.approx(metrics[0], rel=1e-4)
    assert len(saved[1].training["random"]) == 2
    for split in ("valid", "test"):  # every row once, in the same order
        files = [Predictions.read(tmp_path / name / f"predictions_{split}.npz") for name in ("one", "two")]
        np.testing.assert_array_equal(files[1].index, files[0].index)
        np.testing.assert_array_equal(files[1].labels, files[0].labels)
        np.testing.assert_allclose(files[1].predictions, files[0].predictions, rtol=1e-3, atol=1e-3)
    results = [json.loads((tmp_path / name / "results.json").read_text()) for name in ("one", "two")]
    assert [each["hardware"]["processes"] for each in results] == [1, 2]


@pytest.mark.slow
def test_two_processes_with_padded_micro_batches_equal_one(tmp_path):
    """As on GPUs: processes compute their shares in different numbers of groups and exchange gradients once."""
    path = write_dataset(tmp_path / "data", "multiclass")  # 20 to train on: batches of 9, 9 and 2
    settings = recipe(**QUIET, training__loss="weighted_cross_entropy", training__batch_size=9)
    run(settings, grpe_dgl.data.load(path), tmp_path / "one")
    parted = settings.override({"training.micro_batch_size": 2})
    (tmp_path / "recipe.yaml").write_text(parted.to_yaml())
    two_processes(["-c", PROGRAM], tmp_path / "recipe.yaml", path, tmp_path / "two", "padded")
    saved = [load_checkpoint(tmp_path / name / "last.ckpt") for name in ("one", "two")]
    for name, tensor in saved[0].weights.items():  # a rate of 0.01: AdamW enlarges the rounding of two backends
        torch.testing.assert_close(saved[1].weights[name], tensor, rtol=1e-4, atol=1e-4)
    losses = [[row["train_loss"] for row in checkpoint.training["history"]] for checkpoint in saved]
    assert losses[1] == pytest.approx(losses[0], rel=1e-4)


def test_every_process_takes_the_gpu_of_its_local_rank():
    cuda = torch.device("cuda")
    assert [device_of_process(cuda, local_rank=rank, count=4) for rank in (0, 3)] == [
        torch.device("cuda", 0),
        torch.device("cuda", 3),
    ]
    with pytest.raises(InputError, match="process 2 of this machine has no GPU of its own: there are 2 GPUs"):
        device_of_process(cuda, local_rank=2, count=2)
    with pytest.raises(InputError, match="the device is cuda:1 for several processes; accepted: cuda"):
        device_of_process(torch.device("cuda:1"), local_rank=0, count=2)


@pytest.mark.slow
def test_a_last_batch_smaller_than_the_number_of_processes_is_no_early_stop(tmp_path):
    """21 graphs in batches of 4: the last batch has one graph, so two processes leave it out and make 5 updates."""
    path = write_dataset(tmp_path / "data", "regression", count=29)
    (tmp_path / "recipe.yaml").write_text(recipe().to_yaml())
    two_processes(["-c", PROGRAM], tmp_path / "recipe.yaml", path, tmp_path / "run")
    results = json.loads((tmp_path / "run" / "results.json").read_text())
    assert (results["epochs"], results["updates"], results["stopped_early"]) == (3, 15, False)


@pytest.mark.slow
def test_the_command_trains_in_two_processes(tmp_path):
    path = write_dataset(tmp_path / "data", "regression")
    (tmp_path / "recipe.yaml").write_text(recipe().to_yaml())
    outputs = two_processes(
        ["-m", "grpe_dgl", "train"], tmp_path / "recipe.yaml", "--set", f"dataset={path}", "--out", tmp_path / "run"
    )
    assert "epoch   3" in outputs[0][0] and outputs[1][0] == ""  # one process speaks
    assert load_checkpoint(tmp_path / "run" / "best.ckpt").recipe.training.batch_size == 4


@pytest.mark.slow
def test_two_processes_with_balanced_classes_equal_one(tmp_path):
    """The weights' sum, over which a loss is divided, is that of the whole batch; labels are missing here and there."""
    path = write_dataset(tmp_path / "data", "binary", count=27)
    settings = recipe(**QUIET, training__class_weights="balanced", training__metric="mcc")
    one = run(settings, grpe_dgl.data.load(path), tmp_path / "one")
    (tmp_path / "recipe.yaml").write_text(settings.to_yaml())
    two_processes(["-c", PROGRAM], tmp_path / "recipe.yaml", path, tmp_path / "two")
    saved = [load_checkpoint(tmp_path / name / "last.ckpt") for name in ("one", "two")]
    for name, tensor in saved[0].weights.items():
        torch.testing.assert_close(saved[1].weights[name], tensor, rtol=1e-4, atol=1e-5)
    losses = [[row["train_loss"] for row in checkpoint.training["history"]] for checkpoint in saved]
    assert losses[1] == pytest.approx(losses[0], rel=1e-4)
    best = load_checkpoint(tmp_path / "one" / "best.ckpt")
    assert best.thresholds == tuple(one["thresholds"].values()) and set(one["thresholds"]) == {"a", "b", "c"}
