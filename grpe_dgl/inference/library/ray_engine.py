"""A library's blocks on a Ray cluster: stateful workers that load the model once, and take one block after another.

Ray Data starts lost workers anew and gives their blocks to others. That a block is done twice does no harm: parts are
replaced whole, and a finished part is not made again.
"""

import contextlib
import json
import os
import secrets
import socket
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from grpe_dgl.errors import InputError
from grpe_dgl.inference.library.blocks import Block
from grpe_dgl.inference.library.folder import RECORDS, Result
from grpe_dgl.inference.library.ray_address import QUIET, join_cluster
from grpe_dgl.inference.library.work import PartMaker

NO_RAY = "the engine ray needs the package ray; install grpe-dgl[ray]"


@dataclass(frozen=True)
class Retried:
    """A block that was started more than once, because a worker or a node was lost."""

    number: int
    lost: tuple[str, ...]
    """Where it was started in vain."""


class Worker:
    """Makes parts on a node of the cluster; Ray keeps one per core and calls it for one block after another."""

    def __init__(self, maker: PartMaker, run: str) -> None:
        import torch

        torch.set_num_threads(1)
        self._maker, self._run = maker, run

    def __call__(self, batch: dict[str, Any]) -> dict[str, Any]:
        """Make the parts of the blocks in the column `block`; return a column of results."""
        return {"result": [json.dumps(asdict(self._make(json.loads(str(text))))) for text in batch["block"]]}

    def _make(self, values: dict[str, Any]) -> Result:
        import ray

        block = Block.from_dict(values)
        # What is written now tells, after a loss, where the block was started.
        started = (
            self._maker.folder.path / RECORDS / f"part-{block.number:05d}.started-{self._run}-{secrets.token_hex(4)}"
        )
        node = ray.get_runtime_context().get_node_id()[:8]
        with contextlib.suppress(OSError):
            started.write_text(f"process {os.getpid()} on {socket.gethostname()}, node {node}")
        result = self._maker(block)
        with contextlib.suppress(OSError):
            started.unlink()
        return result


def require_ray() -> None:
    """Raise an InputError if Ray is not installed."""
    try:
        import ray.data  # noqa: F401
    except ImportError:
        raise InputError(NO_RAY) from None


def run_on_ray(
    blocks: Sequence[Block], maker: PartMaker, *, address: str | None, workers: int | None, retried: list[Retried]
) -> Iterator[Result]:
    """Yield the result of every block, in the order in which they end.

    Parameters
    ----------
    blocks
        What is to be done.
    maker
        Its files must have the same paths on every node.
    address
        Of a running cluster, or ``"auto"`` for the one that this machine belongs to; None starts one on this machine
        and stops it at the end.
    workers
        How many; None for one per core (or per GPU) of the cluster, at most one per block.
    retried
        Blocks that were started more than once are appended to it.
    """
    # No reports about usage to Ray's makers over the network, and none of its own messages beside ours.
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_BACKEND_LOG_LEVEL", "fatal")
    # Ray's workers run with the lowest priority but four, and on a busy machine hardly at all. Of a cluster that is
    # running already, `ray start` has set it.
    os.environ.setdefault("RAY_worker_niceness", "0")
    require_ray()
    import ray
    import ray.data

    run = secrets.token_hex(4)
    gpus = 1 if maker.compute.device.startswith("cuda") else 0
    with _cluster(address, workers):
        context = ray.data.DataContext.get_current()
        context.enable_progress_bars = False
        context.print_on_execution_start = False
        available = ray.cluster_resources()
        most = int(available.get("GPU" if gpus else "CPU", 1))
        size = max(1, min(workers or most, len(blocks)))
        descriptions = [{"block": json.dumps(block.to_dict())} for block in blocks]
        results = ray.data.from_items(descriptions, override_num_blocks=len(blocks)).map_batches(
            Worker,
            fn_constructor_args=(maker, run),
            batch_size=1,
            # A block waits in no worker's queue, so that the last ones are shared.
            compute=ray.data.ActorPoolStrategy(size=size, max_tasks_in_flight_per_actor=1),
            num_cpus=1,
            num_gpus=gpus or None,
        )
        try:
            for row in results.iter_rows():
                values = json.loads(row["result"])
                yield Result(**{**values, "reasons": tuple(values["reasons"])})
        except ray.exceptions.RayError as error:
            raise InputError(f"Ray failed: {' '.join(str(error).split())[:500]}") from error
        finally:
            retried += _collect(maker, blocks, run)


def _collect(maker: PartMaker, blocks: Sequence[Block], run: str) -> list[Retried]:
    """Return the blocks of this run that were started and not ended by the same process; remove the traces of runs."""
    lost: dict[int, list[str]] = {}
    for file in sorted((maker.folder.path / RECORDS).glob(f"part-*.started-{run}-*")):
        with contextlib.suppress(OSError):
            lost.setdefault(int(file.name[5:].split(".")[0]), []).append(file.read_text())
            file.unlink()
    return [Retried(number, tuple(where)) for number, where in sorted(lost.items())]


@contextlib.contextmanager
def _cluster(address: str | None, workers: int | None) -> Iterator[None]:
    """Connect to a cluster or start one; end the connection, and the cluster if it was started, at the end."""
    import logging

    import ray

    try:
        if address is not None:
            join_cluster(address)
        else:
            ray.init(
                num_cpus=workers,
                include_dashboard=False,
                _node_ip_address="127.0.0.1",
                object_store_memory=1 << 28,
                **QUIET,
            )
    except InputError:
        raise
    except Exception as error:  # Ray raises plain Exceptions, for a start that takes too long among others
        raise InputError(f"Ray did not start on this machine: {' '.join(str(error).split())[:300]}") from None
    logging.getLogger("ray.data").setLevel(logging.ERROR)
    try:
        yield
    finally:
        ray.shutdown()
