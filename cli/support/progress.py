"""Progress of long work: a bar with rate and time left on a terminal, a line every ten seconds elsewhere."""

import contextlib
import sys
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from .terminal import echo, printable

if TYPE_CHECKING:
    from tqdm import tqdm

_SECONDS_BETWEEN_LINES = 10.0
_FORMAT = "{desc}: {percentage:3.0f}%|{bar}| {n_fmt} of {total_fmt}{unit}, {rate_noinv_fmt}, {remaining} left{postfix}"
_SCALED = 100_000  # from here on numbers are shown as 100k


@contextlib.contextmanager
def progress(title: str, total: int | None, unit: str) -> Iterator[Callable[[int], None]]:
    """Show progress on standard error; yields a callback that takes how many more units are done.

    Parameters
    ----------
    title
        What is being done.
    total
        How many units there are; None if unknown.
    unit
        Their name, in the plural.
    """
    if not sys.stderr.isatty():
        yield _plain(title, total, unit)
        return
    with terminal_bar(title, total, unit) as bar:
        yield lambda more: (bar.update(more), None)[1]


def terminal_bar(title: str, total: int | None, unit: str, *, done: int = 0, leave: bool = True) -> "tqdm[Any]":
    """Return a bar on standard error, for a terminal.

    Parameters
    ----------
    title, total, unit
        As in `progress`.
    done
        Units that an earlier session completed: they count for the bar and not for rate and time left.
    leave
        Whether the bar stays when it is closed.
    """
    from tqdm import tqdm

    return tqdm(
        desc=printable(title),
        total=total,
        initial=done,
        unit=f" {unit}",
        unit_scale=total is None or total >= _SCALED,
        bar_format=None if total is None else _FORMAT,
        dynamic_ncols=True,
        leave=leave,
        file=sys.stderr,
    )


def _plain(title: str, total: int | None, unit: str) -> Callable[[int], None]:
    begin = shown_at = time.monotonic()
    done = 0

    def more(count: int) -> None:
        nonlocal shown_at, done
        done += count
        now = time.monotonic()
        if now - shown_at < _SECONDS_BETWEEN_LINES:
            return
        shown_at = now
        rate = done / (now - begin)
        of = f" of {total:,}" if total is not None else ""
        left = f", {(total - done) / rate:,.0f} s left" if total is not None and rate > 0 else ""
        echo(f"{title}: {done:,}{of} {unit}, {rate:,.0f}/s{left}", err=True)

    return more


def progress_so_far(title: str, unit: str) -> Callable[[int, int | None], None]:
    """Return a callback that takes how many units are done and how many there are; shows nothing before its first call.

    `grpe_dgl.io.download.fetch` and `grpe_dgl.workflows.evaluate.evaluate` call one.
    """
    stack = contextlib.ExitStack()
    more: Callable[[int], None] | None = None
    seen = 0

    def show(done: int, total: int | None) -> None:
        nonlocal more, seen
        if more is None:
            more = stack.enter_context(progress(title, total, unit))
        more(done - seen)
        seen = done
        if done == total:
            stack.close()

    return show
