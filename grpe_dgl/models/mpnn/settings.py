"""The settings of MPNN (sum)."""

from dataclasses import dataclass
from typing import ClassVar

from grpe_dgl.models.pna.settings import Aggregator, PNASettings, Scaler


@dataclass(frozen=True, kw_only=True)
class MPNNSettings(PNASettings):
    """PNA's with one aggregator, the sum, which is not scaled: the MPNN that PNA's authors compare with."""

    NAME: ClassVar[str] = "mpnn"
    PRESETS: ClassVar = {"zinc": {"layers": 16, "hidden_size": 110, "towers": 5, "edge_size": 40, "readout": "sum"}}

    aggregators: tuple[Aggregator, ...] = ("sum",)
    scalers: tuple[Scaler, ...] = ("identity",)
