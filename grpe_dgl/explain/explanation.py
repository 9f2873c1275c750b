"""How much each atom and bond contributes to the prediction of a molecule."""

import math
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from grpe_dgl.checkpoint.file import Checkpoint, load_checkpoint
from grpe_dgl.data.molecules.arrays import read_molecules
from grpe_dgl.data.molecules.atom_order import given_molecule
from grpe_dgl.data.molecules.smiles import MAX_NODES
from grpe_dgl.data.store.arrays import GraphArrays
from grpe_dgl.errors import InputError
from grpe_dgl.explain.gradients import integrate_graphs
from grpe_dgl.explain.masking import graph_values, mask_graphs
from grpe_dgl.explain.outputs import ExplainedOutput
from grpe_dgl.models.model import GraphModel

Array = npt.NDArray[Any]
METHODS = ("masking", "gradient")
_AT_A_TIME = 64


@dataclass(frozen=True)
class Explanation:
    """The parts of one prediction."""

    smiles: str
    molecule: Any
    """From RDKit, as it reads the SMILES: atoms and bonds are numbered as there."""
    value: float
    """The number that is explained: a regression in the target's unit, or log-odds."""
    baseline: float
    """What the contributions of the gradient method are relative to: they sum to value - baseline. NaN for masking."""
    atoms: Array
    """(atoms,) float64; NaN for atoms that the model does not read, as they are no part of the standard form, and for
    the only atom of a molecule under masking."""
    bonds: Array
    """(bonds,) float64 in the order of the molecule's bonds; NaN as above, and everywhere for the gradient method."""
    descriptors: float = math.nan
    """How much the prediction changes without the descriptors of the whole molecule, with their training means in their
    place; NaN for masking, whose atoms account for them, and for a model that reads none."""

    @property
    def bond_ends(self) -> list[tuple[int, int]]:
        """The two atoms of every bond."""
        return [(bond.GetBeginAtomIdx(), bond.GetEndAtomIdx()) for bond in self.molecule.GetBonds()]


def explain(
    model: str | Path | Checkpoint,
    smiles: Iterable[str],
    *,
    method: str = "masking",
    target: str | None = None,
    max_nodes: int = MAX_NODES,
) -> list[Explanation | None]:
    """Explain the predictions of molecules.

    Parameters
    ----------
    model
        A checkpoint or its path, of a model of molecules that predicts whole graphs.
    smiles
        R molecules.
    method
        ``"masking"``: the change of the prediction without an atom, or without a bond
        (`grpe_dgl.explain.masking`). ``"gradient"``: integrated gradients, of atoms alone, which sum to the
        prediction minus a baseline (`grpe_dgl.explain.gradients`); quicker.
    target
        Which target or, of several classes, which class; None takes the first.
    max_nodes
        The largest molecule that is taken, in atoms.

    Returns
    -------
    list
        An `Explanation` for every molecule; None, with a warning, where it cannot be read.
    """
    explainer = Explainer(model if isinstance(model, Checkpoint) else load_checkpoint(model), method, target)
    molecules = list(smiles)
    found: list[Explanation | None] = []
    for first in range(0, len(molecules), _AT_A_TIME):
        errors, some = explainer.explain(molecules[first : first + _AT_A_TIME], max_nodes)
        for place, error in enumerate(errors):
            if error is not None:
                warnings.warn(f"molecule {first + place}: {error}", stacklevel=2)
        found += some
    return found


NOTE = (
    "The model also reads descriptors of the whole molecule. They stay as they are when an atom changes, so no atom's "
    "number has a part of theirs. Their own number is the prediction minus that with descriptors of an average "
    "training molecule. The method masking accounts for them atom by atom."
)


class Explainer:
    """Explains molecules with one model, one method and one target; arguments as for `explain`."""

    def __init__(
        self, checkpoint: Checkpoint, method: str = "masking", target: str | None = None, *, source: str = "the model"
    ) -> None:
        if method not in METHODS:
            raise InputError(f"method is {method!r}; accepted: {', '.join(METHODS)}")
        if checkpoint.schema.vocabulary != "ogb":
            raise InputError(
                f"{source} reads graphs of the vocabulary {checkpoint.schema.vocabulary!r}, which are not made of "
                "SMILES; accepted: a model of the vocabulary 'ogb'"
            )
        self.method = method
        self.output = ExplainedOutput.of(checkpoint.schema, target)
        self.view = checkpoint.recipe.model.view
        self.standardised = checkpoint.schema.standardised_molecules
        self.model: GraphModel = checkpoint.model()
        descriptors = getattr(checkpoint.recipe.model, "descriptors", None)
        self.note: str | None = NOTE if descriptors is not None and method == "gradient" else None
        """What the contributions leave out, if anything: a sentence for the reader of the numbers."""

    def explain(
        self, smiles: Sequence[str], max_nodes: int = MAX_NODES
    ) -> tuple[list[str | None], list[Explanation | None]]:
        """Return why each molecule has no explanation, None where it has one, and the explanations."""
        errors, arrays = read_molecules(smiles, max_nodes, standardised=self.standardised)
        index = np.arange(len(arrays))
        if not len(index):
            return errors, [None] * len(smiles)
        if self.method == "masking":
            readable = [text for text, error in zip(smiles, errors, strict=True) if error is None]
            masked = mask_graphs(self.model, self.view, arrays, index, self.output, readable)
            parts = [(value, np.nan, atoms, bonds, ends) for value, atoms, bonds, ends in masked]
        else:
            none: Array = np.zeros(0)
            parts = [
                (value, baseline, atoms, none, np.zeros((0, 2), np.int64))
                for value, baseline, atoms in integrate_graphs(self.model, self.view, arrays, index, self.output)
            ]
        values = np.array([value for value, *_ in parts])
        results = iter(zip(parts, self._descriptor_parts(arrays, index, values), strict=True))
        return errors, [
            None if error is not None else self._in_given_order(text, *next(results))
            for text, error in zip(smiles, errors, strict=True)
        ]

    def _descriptor_parts(self, arrays: GraphArrays, index: npt.NDArray[np.int64], values: Array) -> Array:
        """Return how much of the graphs' values (B,) the descriptors contribute, (B,); NaN where they have none."""
        if self.note is None:
            return np.full(len(index), np.nan)
        scaled = self.model.get_submodule("head_descriptors")
        hook = scaled.register_forward_hook(lambda module, arguments, values: torch.zeros_like(values))  # their means
        try:
            return values - graph_values(self.model, self.view, arrays, index, self.output)
        finally:
            hook.remove()

    def _in_given_order(
        self, smiles: str, parts: tuple[float, float, Array, Array, Array], descriptors: float
    ) -> Explanation:
        value, baseline, nodes, edges, ends = parts
        molecule, order = given_molecule(smiles, standardised=self.standardised)
        atoms = np.full(molecule.GetNumAtoms(), np.nan)
        atoms[order] = nodes
        bonds = np.full(molecule.GetNumBonds(), np.nan)
        for (one, other), part in zip(ends, edges, strict=True):
            bond = molecule.GetBondBetweenAtoms(order[int(one)], order[int(other)])
            bonds[bond.GetIdx()] = part
        return Explanation(smiles, molecule, value, baseline, atoms, bonds, float(descriptors))
