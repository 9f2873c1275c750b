"""A Ray cluster of three nodes on this machine that loses a worker and then a whole node while a command runs on it.

``python -m tests.inference.library.faults OUT COMMAND...`` runs a command, in which ``{address}`` is the cluster's
address, that writes a library into the folder OUT.
"""

import contextlib
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

from grpe_dgl.inference.library.folder import RECORDS


def run_with_faults(command, out, *, before=2, timeout=1800):
    """Return the finished process, and what was killed: the process id of a worker, and the id of a node.

    The worker is killed once `before` parts are finished, the node once as many more are; either has begun a part.
    """
    os.environ.update(
        RAY_USAGE_STATS_ENABLED="0",
        RAY_agent_register_timeout_ms="300000",  # a busy machine starts Ray's processes slowly
        RAY_worker_register_timeout_seconds="300",
    )
    from ray.cluster_utils import Cluster

    node_args = {"num_cpus": 1, "object_store_memory": 1 << 27, "node_ip_address": "127.0.0.1"}
    cluster = _started(lambda: Cluster(initialize_head=True, head_node_args={**node_args, "include_dashboard": False}))
    try:
        nodes = [_started(lambda: cluster.add_node(**node_args)) for _ in range(2)]
        names = [word.replace("{address}", cluster.address) for word in command]
        process = subprocess.Popen(names, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        try:
            end = time.monotonic() + timeout
            worker, _ = _stop_one(out, process, before, [], end)
            os.kill(worker, signal.SIGKILL)
            second, node_id = _stop_one(out, process, 2 * before, [node.node_id[:8] for node in nodes], end)
            cluster.remove_node(next(node for node in nodes if node.node_id.startswith(node_id)), allow_graceful=False)
            with contextlib.suppress(ProcessLookupError):
                os.kill(second, signal.SIGKILL)  # the node's daemon is dead, its worker is still stopped
            stdout, stderr = process.communicate(timeout=max(1.0, end - time.monotonic()))
        finally:
            process.kill()
            process.wait()
        return subprocess.CompletedProcess(names, process.returncode, stdout, stderr), worker, node_id
    finally:
        cluster.shutdown()


def _started(start, attempts=5):
    """Start a part of the cluster; Ray gives up after 30 seconds, which a busy machine may need."""
    for attempt in range(attempts):
        try:
            return start()
        except Exception as error:  # Ray raises a plain Exception
            if attempt == attempts - 1 or "timed out" not in str(error):
                raise
    return None


def _stop_one(out, process, finished, nodes, end):
    """Wait for `finished` parts, then stop a worker that is at work, on one of `nodes` if there are any."""
    records = Path(out) / RECORDS
    while time.monotonic() < end and process.poll() is None:
        if len(list(records.glob("part-*.json"))) >= finished:
            for started in records.glob("*.started-*"):
                with contextlib.suppress(OSError, AttributeError):
                    pid, node = re.search(r"process (\d+) .*node (\w+)", started.read_text()).groups()
                    if nodes and node not in nodes:
                        continue
                    os.kill(int(pid), signal.SIGSTOP)
                    if started.exists():  # else the part was finished meanwhile
                        return int(pid), node
                    os.kill(int(pid), signal.SIGCONT)
        time.sleep(0.01)
    raise AssertionError(f"no worker to stop: {process.poll()} {process.stderr.read() if process.poll() else ''}")


if __name__ == "__main__":
    finished, worker, node = run_with_faults(sys.argv[2:], sys.argv[1], before=1)
    print(finished.stdout, finished.stderr, f"killed: worker {worker}, node {node}; exit code {finished.returncode}")
