"""Whether molecules are like those a model was trained on."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy.typing as npt

from grpe_dgl.data.domain import MAX_FINGERPRINTS, TrainingDomain
from grpe_dgl.data.store.store import Store
from grpe_dgl.errors import InputError
from grpe_dgl.inference.inputs import Chunk
from grpe_dgl.inference.predictor import Predictor


@dataclass(frozen=True)
class DomainComparison:
    """Compares molecules with the training molecules of one or several models."""

    domain: TrainingDomain
    standardised: bool
    """Whether the models read molecules in their standard form."""

    @classmethod
    def of(cls, members: Sequence[Predictor]) -> Self:
        """Return the comparison with what all models together were trained on; raises if one does not record that."""
        domains = []
        for member in members:
            member.require_molecules()
            domain = member.checkpoint.domain
            if domain is None:
                raise InputError(
                    f"{member.source} does not record its training molecules: it was written by an earlier version, "
                    "imported, or trained on a dataset that keeps no SMILES; accepted: a model that this version "
                    "trained on molecules with their SMILES"
                )
            domains.append(domain)
        return cls(TrainingDomain.union(domains), members[0].schema.standardised_molecules)

    def describe(self) -> str:
        """Return a sentence on the training molecules."""
        domain = self.domain
        kept = len(domain.fingerprints)
        sample = "" if kept < MAX_FINGERPRINTS else f"; similarity to the nearest of {kept:,} of them"
        return (
            f"domain: {domain.molecules:,} training molecules of {domain.sizes[0]} to {domain.sizes[1]} atoms{sample}"
        )

    def rows(self, chunk: Chunk) -> npt.NDArray[Any]:
        """Return the columns of `grpe_dgl.data.domain` for the graphs of a chunk, (graphs, 4) float32."""
        return self.domain.compare(_smiles(chunk), chunk.arrays, chunk.graphs, standardised=self.standardised)


def _smiles(chunk: Chunk) -> Sequence[str]:
    if chunk.smiles is not None:
        return chunk.smiles
    store = chunk.arrays
    if not isinstance(store, Store) or not store.has_smiles:
        raise InputError(
            f"{store.path} keeps no SMILES, which the comparison with the training molecules needs; accepted: a "
            "dataset of molecules that this version made, a table, or SMILES"
        )
    return [store.smiles(int(graph)) for graph in chunk.graphs]
