"""``torchrun`` on two machines: a lost process, and the restart that gives the numbers of an undisturbed run."""

import json
import os
import subprocess
import sys
import time

import pytest
import torch

from grpe_dgl.checkpoint.file import load_checkpoint
from tests.training.machines import ADDRESSES, INTERFACE, on_machine, two_machines
from tests.training.test_distributed import two_processes
from tests.training.tiny import recipe, write_dataset

SECONDS = 600  # for both machines together; it takes about 20 where nothing else runs
PATIENT = "keep_alive_max_attempt=60,read_timeout=200"  # a busy machine is not a lost one
GRPE = """
import os, signal, sys
import grpe_dgl.training.loop as loop
from grpe_dgl_cli.main import main

apply_gradients, updates = loop.apply_gradients, 0

def apply_and_die(*arguments):
    "Kill this process before the update that the first argument names, in its first life."
    global updates
    updates += 1
    if updates == int(sys.argv[1]) and os.environ["RANK"] == "1" and os.environ["TORCHELASTIC_RESTART_COUNT"] == "0":
        os.kill(os.getpid(), signal.SIGKILL)
    apply_gradients(*arguments)

loop.apply_gradients = apply_and_die
main(sys.argv[2:])
"""


def torchrun(machines, words, logs, *, data, restarts):
    """Run a program under ``torchrun`` on both machines; return the exit codes."""
    environment = {
        **os.environ,
        "OMP_NUM_THREADS": "1",
        "GLOO_SOCKET_IFNAME": INTERFACE,
        "TORCH_DISABLE_SHARE_RDZV_TCP_STORE": "1",  # a restarted process must not read the addresses of the first life
    }
    started = []
    end = time.monotonic() + SECONDS
    try:
        for name, address, log in zip(machines, ADDRESSES, logs, strict=True):
            launch = [sys.executable, "-m", "torch.distributed.run", "--nnodes=2", "--nproc-per-node=1"]
            rendezvous = ["--rdzv-backend=c10d", f"--rdzv-endpoint={ADDRESSES[0]}:29500", "--rdzv-id=test"]
            # The two have one hostname, which belongs to neither address: torchrun cannot tell which of them is which.
            settings = f"is_host={int(address == ADDRESSES[0])},{PATIENT}"
            own = [f"--local-addr={address}", f"--rdzv-conf={settings}"]
            command = [*launch, *rendezvous, *own, f"--max-restarts={restarts}", *words]
            started.append(on_machine(name, command, log, read_only=data, env=environment))
        return [child.wait(timeout=max(1, end - time.monotonic())) for child in started]
    finally:
        for child in started:
            child.kill()
            child.wait()


@pytest.mark.slow
def test_a_lost_process_is_restarted_and_continues_from_the_last_checkpoint(tmp_path):
    data = write_dataset(tmp_path / "data", "regression")
    (tmp_path / "recipe.yaml").write_text(recipe(dataset=str(data)).to_yaml())
    program = tmp_path / "grpe.py"
    program.write_text(GRPE)
    with two_machines() as machines:
        probe = on_machine(machines[0], ["touch", data / "written"], tmp_path / "probe.log", read_only=data)
        probe.wait(timeout=60)
        if "Read-only file system" not in (tmp_path / "probe.log").read_text():
            pytest.skip("a folder cannot be made read-only for a process here")
        two_processes(["-m", "grpe_dgl", "train"], tmp_path / "recipe.yaml", "--out", tmp_path / "undisturbed")
        words = [program, 8, "train", tmp_path / "recipe.yaml", "--out", tmp_path / "disturbed"]  # update 8 of 15
        logs = [tmp_path / f"{name}.log" for name in machines]
        try:
            codes = torchrun(machines, words, logs, data=data, restarts=1)
        except subprocess.TimeoutExpired:
            codes = ["time-out"]
    shown = "".join(log.read_text() for log in logs)
    assert codes == [0, 0], shown
    assert "resuming after update 5 of 15, 1 epoch done" in shown and "2 processes" in shown
    names = ("undisturbed", "disturbed")
    saved = [load_checkpoint(tmp_path / name / "last.ckpt") for name in names]
    for name, tensor in saved[0].weights.items():
        assert torch.equal(tensor, saved[1].weights[name]), name
    assert [_numbers(row) for row in saved[0].training["history"]] == [
        _numbers(row) for row in saved[1].training["history"]
    ]
    assert all(torch.equal(*states) for states in zip(*(each.training["random"] for each in saved), strict=True))
    results = [_numbers(json.loads((tmp_path / name / "results.json").read_text())) for name in names]
    assert results[0] == results[1] and results[0]["updates"] == 15
    assert not (tmp_path / "disturbed" / ".torchrun").exists()


def _numbers(row):
    return {key: value for key, value in row.items() if not key.startswith(("seconds", "peak_memory"))}
