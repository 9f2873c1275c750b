"""The datasets that can be made by name, with the facts of each that are known without its files.

Sources are given by the names of their modules and imported only when a dataset is made.
"""

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from grpe_dgl.data.sources import ogb_facts
from grpe_dgl.data.sources.source import Source
from grpe_dgl.errors import InputError
from grpe_dgl.messages import nearest
from grpe_dgl.schema import Schema, Task, known_schema

COMMUNITIES = 6


@dataclass(frozen=True, kw_only=True)
class Request:
    """The dataset to make, and how."""

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
    """Passed to `grpe_dgl.io.download.fetch`."""


@dataclass(frozen=True, kw_only=True)
class Entry:
    """A dataset that can be made."""

    title: str
    """What it is, in a line."""
    source: str
    """The module under `grpe_dgl.data.sources` whose ``make(request)`` returns the source, downloading the publisher's
    files if they are not there, and whose ``settings(request)``, if it has one, returns the source's settings."""
    schema: Schema | None = None
    """None for OGB's molecule datasets, whose facts are in the table that comes with the package ogb."""
    url: str | None = None
    """The publisher's archive; None where OGB's table has it."""
    files: str = ""
    """DGL's datasets: a file's name, with ``{}`` for the split. OGB-LSC's: the publisher's folder."""
    splits: tuple[str, ...] = ("train", "valid", "test")
    can_generate: bool = False
    counts: tuple[int, ...] | None = None
    """How many graphs were published for each of `splits`; None where no number of the paper depends on it."""

    def make(self, request: Request) -> Source:
        """Return the source; downloads the publisher's files if they are not there."""
        source: Source = _module(self.source).make(request)
        return source

    def settings(self, request: Request) -> dict[str, Any]:
        """Return the source's settings without touching any file."""
        settings = getattr(_module(self.source), "settings", None)
        return {"dataset": request.name} if settings is None else settings(request)


def short_name(name: str) -> str:
    """Return the catalogue's name of a dataset: ``molhiv`` for ``ogbg-molhiv``."""
    return name.removeprefix("ogbg-")


def find(name: str) -> tuple[str, Entry]:
    """Return the catalogue's name of the dataset `name`, and its entry; raises an InputError that lists the names."""
    name = short_name(name)
    if name not in CATALOGUE:
        close = nearest(name, list(CATALOGUE))
        raise InputError(f"there is no dataset {name!r}{close}; accepted: {', '.join(CATALOGUE)}")
    return name, CATALOGUE[name]


def schema_of(name: str) -> Schema:
    """Return the schema of a dataset of the catalogue, known without its files; raises an InputError listing them."""
    name, entry = find(name)
    if entry.schema is not None:
        return entry.schema
    return ogb_facts.schema_of(name)


MOLECULES = known_schema(
    "ogb", name="molecules", task=Task(level="graph", kind="regression", targets=("target",), metric="rmse")
)
"""Molecules with one target, as an example of any dataset of molecules."""


def _module(source: str) -> Any:
    return importlib.import_module(f"grpe_dgl.data.sources.{source}")


def _regression(vocabulary: str, name: str, target: str) -> Schema:
    task = Task(level="graph", kind="regression", targets=(target,), metric="mae")
    return known_schema(vocabulary, name=name, task=task)


def _node_classes(name: str, classes: tuple[str, ...]) -> Schema:
    task = Task(level="node", kind="multiclass", targets=(name,), classes=classes, metric="weighted_accuracy")
    return known_schema(name, name=name, task=task)


_LSC = "https://dgl-data.s3-accelerate.amazonaws.com/dataset/OGB-LSC/{}.zip"  # what ogb 1.3.6 downloads from

CATALOGUE: dict[str, Entry] = {
    "zinc": Entry(
        title="ZINC-12k: constrained solubility, regression per graph",
        source="zinc",
        schema=_regression("zinc", "zinc", "constrained solubility"),
        url="https://data.dgl.ai/dataset/ZINC12k.zip",
        files="ZincDGL_{}.bin",
        counts=(10000, 1000, 1000),
    ),
    "pattern": Entry(
        title="PATTERN: find a planted pattern, 2 classes per node",
        source="sbm",
        schema=_node_classes("pattern", ("host", "pattern")),
        url="https://data.dgl.ai/dataset/SBM_PATTERN.zip",
        files="SBM_PATTERN_{}.bin",
        can_generate=True,
        counts=(10000, 2000, 2000),
    ),
    "cluster": Entry(
        title="CLUSTER: find the communities, 6 classes per node",
        source="sbm",
        schema=_node_classes("cluster", tuple(f"community {r}" for r in range(COMMUNITIES))),
        url="https://data.dgl.ai/dataset/SBM_CLUSTER.zip",
        files="CLUSTER_{}.bin",
        can_generate=True,
        counts=(10000, 1000, 1000),
    ),
    "molhiv": Entry(
        title="ogbg-molhiv: inhibition of HIV, yes or no, per graph", source="ogb", counts=(32901, 4113, 4113)
    ),
    "molpcba": Entry(
        title="ogbg-molpcba: 128 bioassays, yes or no, per graph", source="ogb", counts=(350343, 43793, 43793)
    ),
    "pcqm4m": Entry(
        title="PCQM4M: HOMO-LUMO gap, 3.8 million, regression per graph",
        source="pcqm",
        schema=_regression("ogb", "pcqm4m", "homolumogap"),
        url=_LSC.format("pcqm4m_kddcup2021"),
        files="pcqm4m_kddcup2021",
        counts=(3045360, 380670, 377423),
    ),
    "pcqm4mv2": Entry(
        title="PCQM4Mv2: HOMO-LUMO gap, 3.7 million, regression per graph",
        source="pcqm",
        schema=_regression("ogb", "pcqm4mv2", "homolumogap"),
        url=_LSC.format("pcqm4m-v2"),
        files="pcqm4m-v2",
        splits=("train", "valid", "test-dev", "test-challenge"),
        counts=(3378606, 73545, 147037, 147432),
    ),
    **{
        # OGB's other molecule datasets, under the names OGB's own table has for them.
        name: Entry(title=f"ogbg-{name}: {title}", source="ogb")
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
