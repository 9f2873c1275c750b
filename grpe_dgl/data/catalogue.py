"""The datasets that can be made by name. Nothing heavy is imported before one is asked for."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from grpe_dgl.data.sources.source import Source
from grpe_dgl.errors import InputError
from grpe_dgl.messages import nearest


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
    """Handed to `grpe_dgl.io.download.fetch`."""


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


def short_name(name: str) -> str:
    """Return what a dataset is called here: molhiv and ogbg-molhiv are one."""
    return name.removeprefix("ogbg-")


def find(name: str) -> tuple[str, Entry]:
    """Return the entry called `name` with the name its dataset goes by."""
    name = short_name(name)
    if name not in CATALOGUE:
        close = nearest(name, list(CATALOGUE))
        raise InputError(f"there is no dataset {name!r}{close}; accepted: {', '.join(CATALOGUE)}")
    return name, CATALOGUE[name]


def _zinc(request: Request) -> Source:
    from grpe_dgl.data.sources.zinc import zinc

    return zinc(request.raw_dir, progress=request.progress)


def _ogb(request: Request) -> Source:
    from grpe_dgl.data.sources.ogb import ogb

    return ogb(request.name, request.raw_dir, progress=request.progress)


def _pcqm(request: Request) -> Source:
    from grpe_dgl.data.sources.pcqm import pcqm

    return pcqm(request.name, request.raw_dir, progress=request.progress)


def _sbm(request: Request) -> Source:
    from grpe_dgl.data.sources import sbm

    if request.generate:
        return sbm.generated(request.name, graphs=request.graphs, seed=request.seed)
    return sbm.published(request.name, request.raw_dir, progress=request.progress)


def _sbm_settings(request: Request) -> dict[str, Any]:
    from grpe_dgl.data.sources import sbm

    return sbm.settings_of(request.name, generate=request.generate, graphs=request.graphs, seed=request.seed)


CATALOGUE: dict[str, Entry] = {
    "zinc": Entry(title="ZINC-12k: constrained solubility, regression per graph", make=_zinc),
    "pattern": Entry(
        title="PATTERN: find a planted pattern, 2 classes per node",
        make=_sbm,
        settings=_sbm_settings,
        can_generate=True,
    ),
    "cluster": Entry(
        title="CLUSTER: find the communities, 6 classes per node",
        make=_sbm,
        settings=_sbm_settings,
        can_generate=True,
    ),
    "molhiv": Entry(title="ogbg-molhiv: inhibition of HIV, yes or no, per graph", make=_ogb),
    "molpcba": Entry(title="ogbg-molpcba: 128 bioassays, yes or no, per graph", make=_ogb),
    "pcqm4m": Entry(title="PCQM4M: HOMO-LUMO gap, 3.8 million, regression per graph", make=_pcqm),
    "pcqm4mv2": Entry(title="PCQM4Mv2: HOMO-LUMO gap, 3.7 million, regression per graph", make=_pcqm),
    **{
        # OGB's other molecule datasets, under the names OGB's own table has for them.
        name: Entry(title=f"ogbg-{name}: {title}", make=_ogb)
        for name, title in {
            "molbace": "1,513 inhibitors of BACE-1, yes or no",
            "molbbbp": "2,039 blood-brain barrier tests, yes or no",
            "molchembl": "1,310 bioassays, yes or no",
            "molclintox": "1,477 drugs: approval, toxicity, yes or no",
            "molesol": "1,128 solubilities, regression",
            "molfreesolv": "642 hydration free energies, regression",
            "mollipo": "4,200 lipophilicities, regression",
            "molmuv": "17 virtual-screening assays, yes or no",
            "molsider": "27 kinds of side effects, yes or no",
            "moltox21": "12 toxicity assays, yes or no",
            "moltoxcast": "617 toxicity assays, yes or no",
        }.items()
    },
}
