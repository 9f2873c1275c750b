"""The datasets that can be made by name. Nothing heavy is imported before one is asked for."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from grpe_dgl.data.source import Source
from grpe_dgl.errors import InputError


@dataclass(frozen=True, kw_only=True)
class Request:
    """What a user asked for."""

    name: str
    """The dataset's name, a key of `CATALOGUE`."""
    raw_dir: Path
    """The folder that holds the publisher's folder."""
    generate: bool = False
    """Whether to draw graphs by the published procedure instead of reading the published ones."""
    graphs: tuple[int, int, int] | None = None
    """Generated: how many for train, valid and test; None for as many as were published."""
    seed: int = 0
    """Generated: the seed."""
    progress: Callable[..., object] | None = None
    """Handed to `grpe_dgl.data.download.fetch`."""


@dataclass(frozen=True, kw_only=True)
class Entry:
    """A dataset that can be made."""

    title: str
    """What it is, in a line."""
    make: Callable[[Request], Source]
    """Returns the source; downloads the publisher's files if they are not there."""
    settings: Callable[[Request], dict[str, Any]] = lambda request: {"dataset": request.name}
    """Returns the source's settings without touching any file."""
    can_generate: bool = False


def find(name: str) -> tuple[str, Entry]:
    """Return the entry called `name` with the name its dataset goes by."""
    if name not in CATALOGUE:
        raise InputError(f"there is no dataset {name!r}; accepted: {', '.join(CATALOGUE)}")
    return name, CATALOGUE[name]


def _zinc(request: Request) -> Source:
    from grpe_dgl.data.sources.zinc import zinc

    return zinc(request.raw_dir, progress=request.progress)


def _sbm(request: Request) -> Source:
    from grpe_dgl.data.sources import sbm

    if request.generate:
        return sbm.generated(request.name, graphs=request.graphs, seed=request.seed)
    return sbm.published(request.name, request.raw_dir, progress=request.progress)


def _sbm_settings(request: Request) -> dict[str, Any]:
    from grpe_dgl.data.sources import sbm

    return sbm.settings_of(request.name, generate=request.generate, graphs=request.graphs, seed=request.seed)


CATALOGUE: dict[str, Entry] = {
    "zinc": Entry(title="ZINC-12k: constrained solubility of molecules, regression per graph", make=_zinc),
    "pattern": Entry(
        title="PATTERN: find a pattern in a stochastic block model, 2 classes per node",
        make=_sbm,
        settings=_sbm_settings,
        can_generate=True,
    ),
    "cluster": Entry(
        title="CLUSTER: find the communities of a stochastic block model, 6 classes per node",
        make=_sbm,
        settings=_sbm_settings,
        can_generate=True,
    ),
}
