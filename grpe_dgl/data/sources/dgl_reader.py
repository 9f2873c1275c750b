"""Read files of `dgl.save_graphs` in a process of their own, because DGL ends its process on a damaged file.

The process, ``python -m grpe_dgl.data.sources.dgl_reader``, answers requests until its input ends. A request is a line
of JSON. An answer is 8 bytes with the length of a header, the header (JSON with the error or with name, dtype and shape
of each array), and the arrays' bytes one after the other.
"""

import atexit
import contextlib
import json
import os
import resource
import select
import signal
import struct
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from grpe_dgl.errors import InputError

Arrays = dict[str, npt.NDArray[Any]]
_LENGTH = struct.Struct("<Q")
_SECONDS = {"start": 600.0, "read": 60.0}  # to load DGL, and to read a run of graphs, which takes less than one
_MEMORY = 8 << 30  # bytes beyond what is taken when DGL is loaded


def read_arrays(file: Path, first: int, last: int, node_data: Sequence[str], edge_data: Sequence[str]) -> Arrays:
    """Return the arrays of graphs first..last-1 of a file.

    ``num_nodes`` and ``num_edges`` (graphs,), ``src`` and ``dst`` (edges,) numbered within each graph, ``node.NAME``
    and ``edge.NAME`` for the data that is asked for, and ``label.NAME``. A file that DGL cannot read is an InputError.
    """
    request = {"file": str(file), "first": first, "last": last, "node": list(node_data), "edge": list(edge_data)}
    reader = _Reader.running()
    try:
        header, content = reader.ask(request)
    except (EOFError, OSError) as error:
        raise InputError(f"{file} is corrupt: DGL cannot read it ({reader.stop() or error})") from None
    if "error" in header:
        raise InputError(f"{file} is corrupt: DGL cannot read it ({header['error']})")
    arrays, at = {}, 0
    for name, dtype, shape in header["arrays"]:
        array = np.frombuffer(content, dtype, count=int(np.prod(shape)), offset=at).reshape(shape)
        arrays[name] = array
        at += array.nbytes
    return arrays


class _Reader:
    """The process that reads, from this one's side."""

    current: "_Reader | None" = None

    def __init__(self) -> None:
        self.errors = tempfile.TemporaryFile()
        self.process = subprocess.Popen(
            [sys.executable, "-m", __spec__.name],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            bufsize=0,  # what is waited for must not be in a buffer already
            stderr=self.errors,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
            start_new_session=True,  # Ctrl-C ends this process, whose end ends the other
        )
        atexit.register(self.stop)
        self.started = False

    @classmethod
    def running(cls) -> "_Reader":
        """Return this process's reader, a new one if there is none that runs."""
        if cls.current is None or cls.current.process.poll() is not None:
            cls.current = cls()
        return cls.current

    def ask(self, request: dict[str, Any]) -> tuple[dict[str, Any], bytes]:
        """Send a request and return the answer's header and content."""
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.write(json.dumps(request).encode() + b"\n")
        self.process.stdin.flush()
        stream = self.process.stdout
        if not self.started:
            self._wait("start")
            _exactly(stream, 1)
            self.started = True
        self._wait("read")
        header = json.loads(_exactly(stream, *_LENGTH.unpack(_exactly(stream, _LENGTH.size))))
        return header, _exactly(stream, header.get("bytes", 0))

    def _wait(self, what: str) -> None:
        assert self.process.stdout is not None
        if not select.select([self.process.stdout], [], [], _SECONDS[what])[0]:
            self.process.kill()
            raise TimeoutError(f"no answer in {_SECONDS[what]:.0f} seconds")

    def stop(self) -> str:
        """End the process and return what it ended with, if that was not this."""
        _Reader.current = None
        atexit.unregister(self.stop)
        for stream in (self.process.stdin, self.process.stdout):
            if stream is not None:
                with contextlib.suppress(OSError):
                    stream.close()
        try:
            code = self.process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            self.process.kill()
            code = self.process.wait()
        self.errors.seek(0)
        lines = self.errors.read().decode(errors="replace").split("\n")
        self.errors.close()
        said = next((line.strip() for line in lines if "Check failed" in line or "what()" in line), "")
        if code >= 0:
            return f"its process ended: {lines[-2]}" if code and len(lines) > 1 else ""
        return f"its process ended with {signal.Signals(-code).name}{f': {said}' if said else ''}"[:300]


def _exactly(stream: Any, count: int) -> bytes:
    content = bytearray()
    while len(content) < count:
        part = stream.read(min(count - len(content), 1 << 20))
        if not part:
            raise EOFError("its process ended")
        content += part
    return bytes(content)


def serve(requests: BinaryIO, answers: BinaryIO) -> None:
    """Answer requests until there are no more."""
    import dgl

    with contextlib.suppress(OSError, ValueError):  # not Linux, or a lower limit is set
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        with open("/proc/self/statm", encoding="ascii") as statm:
            taken = int(statm.read().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (taken + _MEMORY, taken + _MEMORY))
    answers.write(b"!")  # DGL is loaded
    answers.flush()
    for line in requests:
        arrays: Arrays = {}
        header: dict[str, Any]
        try:
            arrays = _load(**json.loads(line))
            described = [(name, array.dtype.str, array.shape) for name, array in arrays.items()]
            header = {"arrays": described, "bytes": sum(array.nbytes for array in arrays.values())}
        except (dgl.DGLError, ValueError, LookupError, RuntimeError, MemoryError, TypeError, OverflowError) as error:
            header, arrays = {"error": (str(error).strip().splitlines() or [type(error).__name__])[-1][:200]}, {}
        text = json.dumps(header).encode()
        answers.write(_LENGTH.pack(len(text)) + text)
        for array in arrays.values():
            answers.write(array.tobytes())
        answers.flush()


def _load(file: str, first: int, last: int, node: list[str], edge: list[str]) -> Arrays:
    import dgl

    graphs, labels = dgl.load_graphs(file, list(range(first, last)))
    for graph in graphs:  # leave out what is not asked for, which need not agree between graphs
        for data, wanted in ((graph.ndata, node), (graph.edata, edge)):
            for key in set(data) - set(wanted):
                del data[key]
    batch = dgl.batch(graphs)
    num_nodes, num_edges = batch.batch_num_nodes().numpy(), batch.batch_num_edges().numpy()
    first_node = np.repeat(np.cumsum(num_nodes) - num_nodes, num_edges)
    src, dst = (end.numpy() - first_node for end in batch.edges(order="eid"))
    return {
        "num_nodes": num_nodes,
        "num_edges": num_edges,
        "src": src,
        "dst": dst,
        **{f"node.{key}": batch.ndata[key].numpy() for key in node},
        **{f"edge.{key}": batch.edata[key].numpy() for key in edge},
        **{f"label.{key}": value[first:last].numpy() for key, value in labels.items()},
    }


if __name__ == "__main__":
    answering = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what DGL prints is no answer
    serve(sys.stdin.buffer, answering)
