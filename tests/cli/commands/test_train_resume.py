import random
import signal
import subprocess
import sys
import time

import pytest
import torch

from grpe_dgl.checkpoint.file import load_checkpoint
from grpe_dgl.io.lock import exclusive
from tests.cli.invoke import grpe_in


def test_existing_folder_and_resume(folder):
    grpe_in(folder, "train", "tiny.yaml", "--out", "runs/again")
    output = grpe_in(folder, "train", "tiny.yaml", "--out", "runs/again", code=1)
    assert (
        "runs/again exists already, and resume is not set; --resume continues it, --out names another folder" in output
    )
    assert "done after 3 epochs" in grpe_in(folder, "train", "tiny.yaml", "--out", "runs/again", "--resume")
    output = grpe_in(folder, "train", "tiny.yaml", "--out", "runs/again", "--resume", "--epochs", 9, code=1)
    assert "training.epochs is 3 there, 9 was asked for" in output


def test_max_time_saves_and_prints_the_command_that_resumes(folder, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["grpe", "train", "tiny.yaml", "--out", "runs/short", "--max-time", "0.001s"])
    output = grpe_in(folder, *sys.argv[1:])
    assert "--max-time is reached; everything is saved in runs/short. To continue:\n" in output
    assert "grpe train tiny.yaml --out runs/short --max-time 0.001s --resume" in output
    output = grpe_in(folder, "train", "tiny.yaml", "--out", "runs/short", "--resume")
    assert "resuming after update 1 of 15, 0 epochs done\n" in output and "done after 3 epochs" in output


def spawn(folder, *words):
    return subprocess.Popen(
        [sys.executable, "-m", "grpe_dgl", *words],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


LONG = ("--epochs", "40", "--set", "training.warmup_epochs=1")


@pytest.fixture(scope="module")
def uninterrupted(folder):
    child = spawn(folder, "train", "tiny.yaml", "--out", "runs/long", *LONG)
    assert child.communicate(timeout=300) and child.returncode == 0
    return load_checkpoint(folder / "runs/long/last.ckpt").weights


@pytest.mark.slow
def test_killed_at_random_moments_and_resumed(folder, uninterrupted):
    random.seed(0)
    for attempt in range(3):
        child = spawn(folder, "train", "tiny.yaml", "--out", "runs/killed", *LONG, *(["--resume"] if attempt else []))
        _wait_for(folder / "runs/killed/last.ckpt", child)
        time.sleep(random.uniform(0, 1.5))
        child.kill()
        child.communicate()
    child = spawn(folder, "train", "tiny.yaml", "--out", "runs/killed", *LONG, "--resume")
    child.communicate(timeout=300)
    assert child.returncode == 0
    resumed = load_checkpoint(folder / "runs/killed/last.ckpt").weights
    assert all(torch.equal(resumed[name], uninterrupted[name]) for name in uninterrupted)


@pytest.mark.slow
@pytest.mark.parametrize("number, code", [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_signals_save_and_print_the_command_that_resumes(folder, uninterrupted, number, code):
    out = f"runs/signal-{code}"
    child = spawn(folder, "train", "tiny.yaml", "--out", out, *LONG)
    _wait_for(folder / out / "last.ckpt", child)
    child.send_signal(number)
    _, errors = child.communicate(timeout=120)
    assert child.returncode == code
    assert "interrupted; everything is saved" in errors and "--resume" in errors and "Traceback" not in errors
    child = spawn(folder, "train", "tiny.yaml", "--out", out, *LONG, "--resume")
    child.communicate(timeout=300)
    resumed = load_checkpoint(folder / out / "last.ckpt").weights
    assert all(torch.equal(resumed[name], uninterrupted[name]) for name in uninterrupted)


def _wait_for(path, child):
    """Wait until a file is there; the child must still be running then."""
    for _ in range(1200):
        if path.exists() or child.poll() is not None:
            break
        time.sleep(0.05)
    assert child.poll() is None, child.communicate()


def test_a_run_that_is_being_trained_cannot_be_resumed(folder):
    grpe_in(folder, "train", "tiny.yaml", "--out", "runs/locked")
    with exclusive(folder / "runs" / "locked", what="is training"):
        output = grpe_in(folder, "train", "tiny.yaml", "--out", "runs/locked", "--resume", code=1)
    assert "another process is training in runs/locked; wait for its end, or stop it first" in output
    grpe_in(folder, "train", "tiny.yaml", "--out", "runs/locked", "--resume")
