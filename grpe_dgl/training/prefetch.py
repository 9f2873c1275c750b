"""Batches that are assembled, and copied to a GPU, by a background thread while the previous ones are computed."""

import contextlib
import queue
import threading
from collections.abc import Callable, Generator, Iterator
from typing import Any, TypeVar

import torch
from torch import Tensor

from grpe_dgl.data.batching.parts import Part

T = TypeVar("T")
DEPTH = 2  # batches that are ready while another is computed


def prefetch(items: Iterator[T], depth: int = DEPTH) -> Generator[T, None, None]:
    """Yield the items of an iterator that a background thread runs, up to `depth` of them ahead.

    An exception in the iterator is raised here. Closing this generator ends the thread.
    """
    ready: queue.Queue[Callable[[], T]] = queue.Queue(depth)
    stopped = threading.Event()

    def put(item: Callable[[], T]) -> None:
        while not stopped.is_set():
            with contextlib.suppress(queue.Full):
                ready.put(item, timeout=0.1)
                return

    def work() -> None:
        try:
            for item in items:
                put(lambda item=item: item)  # type: ignore[misc]
                if stopped.is_set():
                    return
            put(_raising(_Exhausted()))
        except BaseException as error:  # raised in the thread that waits for items
            put(_raising(error))

    thread = threading.Thread(target=work, name="grpe-prefetch", daemon=True)
    thread.start()
    try:
        while True:
            try:
                item = ready.get()()
            except _Exhausted:
                return
            yield item
    finally:
        stopped.set()
        thread.join()


class _Exhausted(Exception):  # noqa: N818 - the end of an iterator is no error
    """The iterator has ended."""


def _raising(error: BaseException) -> Callable[[], Any]:
    def fail() -> Any:
        raise error

    return fail


class Transfer:
    """Copies parts of batches to a device; to a GPU from page-locked memory, on a stream of its own.

    `send` is called by the thread that assembles batches, `receive` by the one that computes with them.
    """

    def __init__(self, device: torch.device) -> None:
        self.device = device
        self._stream = torch.cuda.Stream(device) if device.type == "cuda" else None

    def send(self, parts: list[Part]) -> tuple[list[Part], Any]:
        """Return the parts on the device and, for a GPU, the event that marks the end of the copy."""
        if self._stream is None:
            return [part.to_device(self.device) for part in parts], None
        with torch.cuda.stream(self._stream):
            sent = [part.pin_memory().to_device(self.device) for part in parts]
            return sent, self._stream.record_event()

    def pinned(self, tensor: Tensor) -> Tensor:
        """Return a tensor from which the device copies without blocking the host."""
        return tensor if self._stream is None else tensor.pin_memory()

    def receive(self, sent: tuple[list[Part], Any]) -> list[Part]:
        """Return the parts for use on the current stream, which waits for the copy; the host does not."""
        parts, copied = sent
        if copied is not None:
            current = torch.cuda.current_stream(self.device)
            current.wait_event(copied)
            for part in parts:
                for tensor in part.tensors():
                    tensor.record_stream(current)  # the memory is not reused before this stream is done with it
        return parts
