"""Run a command on a Ray cluster of three nodes, and kill one of its workers and then a whole node in their work.

``python -m tests.inference.library.ray_faults OUT COMMAND...``, where ``{address}`` in the command is the cluster's. It
prints as JSON what became of the command, and which parts were in work when their process was killed.
"""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from ray.cluster_utils import Cluster

LIMIT = 400.0  # seconds


def stopped_in_work(out, wanted, ended):
    """Stop a process with a part in work, for which `wanted` of its node is true; return it, its node and the part."""
    begin = time.monotonic()
    while not ended() and time.monotonic() - begin < LIMIT:
        for file in out.glob("_parts/*.started-*"):
            with contextlib.suppress(OSError, IndexError):
                words = file.read_text().split()  # process 123 on NAME, node abcdef
                process, node = int(words[1]), words[-1]
                if not wanted(node):
                    continue
                os.kill(process, signal.SIGSTOP)
                if file.exists():  # it has not ended in the meantime
                    return process, node, file.name.split(".")[0]
                os.kill(process, signal.SIGCONT)
        time.sleep(0.002)
    raise SystemExit("no part was in work")


def main():
    out, command = Path(sys.argv[1]), sys.argv[2:]
    memory = {"num_cpus": 1, "object_store_memory": 80 << 20}
    cluster = Cluster(initialize_head=True, head_node_args={**memory, "include_dashboard": False})
    try:
        others = [cluster.add_node(**memory) for _ in range(2)]
        command = [word.replace("{address}", cluster.address) for word in command]
        run = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        ended = lambda: run.poll() is not None  # noqa: E731
        process, _, part = stopped_in_work(out, lambda node: True, ended)
        os.kill(process, signal.SIGKILL)
        killed = [part]
        while not ended() and not list(out.glob("part-*")):
            time.sleep(0.01)
        ids = {node.node_id[:8]: node for node in others}
        process, name, part = stopped_in_work(out, ids.__contains__, ended)
        cluster.remove_node(ids[name], allow_graceful=False)
        with contextlib.suppress(ProcessLookupError):
            os.kill(process, signal.SIGKILL)  # stopped, it does not notice that its node is gone
        killed.append(part)
        output, errors = run.communicate(timeout=LIMIT)
        print(json.dumps({"code": run.returncode, "output": output, "errors": errors, "killed": killed}))
    finally:
        cluster.shutdown()


if __name__ == "__main__":
    main()
