"""The section ``pretraining`` of a recipe: the targets that molecules without labels are given."""

from dataclasses import dataclass
from typing import Literal

from grpe_dgl.errors import InputError


@dataclass(frozen=True, kw_only=True)
class PretrainingRecipe:
    """What a model learns from molecules without labels: to predict numbers that are computed from their structure."""

    targets: Literal["rdkit"] = "rdkit"
    """``rdkit``: RDKit's two-dimensional descriptors, `grpe_dgl.data.molecules.descriptors`."""
    quantile: float = 0.005
    """Each target is clipped to this quantile and to one minus it, then standardised; those whose two quantiles
    coincide are left out."""
    valid: float = 0.01
    """The fraction of the molecules that is not trained on, and measures the model."""
    max_nodes: int = 100
    """Molecules of more atoms are skipped."""

    def __post_init__(self) -> None:
        for key, fits, accepted in (
            ("quantile", 0 <= self.quantile < 0.5, "0 to below 0.5"),
            ("valid", 0 < self.valid < 1, "above 0 and below 1"),
            ("max_nodes", 1 <= self.max_nodes <= 65_536, "1 to 65,536"),
        ):
            if not fits:
                raise InputError(f"pretraining.{key} is {getattr(self, key)}; accepted: {accepted}")
