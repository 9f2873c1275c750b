"""How long work takes to go: a bar with rate and time left on a terminal, a plain line now and then elsewhere."""

import contextlib
import sys
import time
from collections.abc import Callable, Iterator

import click

_SECONDS_BETWEEN_LINES = 10.0


@contextlib.contextmanager
def progress(title: str, total: int | None, unit: str) -> Iterator[Callable[[int], None]]:
    """Show progress on standard error; call what this yields with how many more units are done.

    Parameters
    ----------
    title
        What is being done.
    total
        How many units there are; None if unknown.
    unit
        What they are called.
    """
    if not sys.stderr.isatty():
        yield _plain(title, total, unit)
        return
    from tqdm import tqdm

    with tqdm(desc=title, total=total, unit=f" {unit}", unit_scale=True, dynamic_ncols=True, file=sys.stderr) as bar:
        yield lambda more: (bar.update(more), None)[1]


def _plain(title: str, total: int | None, unit: str) -> Callable[[int], None]:
    begin = said = time.monotonic()
    done = 0

    def more(count: int) -> None:
        nonlocal said, done
        done += count
        now = time.monotonic()
        if now - said < _SECONDS_BETWEEN_LINES:
            return
        said = now
        rate = done / (now - begin)
        of = f" of {total:,}" if total is not None else ""
        left = f", {(total - done) / rate:,.0f} s left" if total is not None and rate > 0 else ""
        click.echo(f"{title}: {done:,}{of} {unit}, {rate:,.0f}/s{left}", err=True)

    return more


def download_progress() -> Callable[[int, int | None], None]:
    """Return what `grpe_dgl.io.download.fetch` calls as bytes come in; it shows nothing before the first of them."""
    stack = contextlib.ExitStack()
    more: Callable[[int], None] | None = None
    seen = 0

    def show(have: int, total: int | None) -> None:
        nonlocal more, seen
        if more is None:
            more = stack.enter_context(progress("download", total, "bytes"))
        more(have - seen)
        seen = have
        if have == total:
            stack.close()

    return show
