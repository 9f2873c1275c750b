"""SMILES to graphs, many molecules at a time."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from hashlib import blake2b
from typing import Any

import numpy as np
import numpy.typing as npt
from rdkit import Chem
from rdkit.rdBase import BlockLogs

from grpe_dgl.data.molecules.canonical import canonicalise
from grpe_dgl.data.molecules.columns import MoleculeColumns
from grpe_dgl.data.molecules.duplicates import structure_keys
from grpe_dgl.data.molecules.no_molecule import NoMolecule
from grpe_dgl.data.molecules.plain_smiles import molecule_of_smiles
from grpe_dgl.data.molecules.standardise import standardise
from grpe_dgl.data.sources.raw_graphs import Graphs, Skipped

MAX_NODES = 512
"""The largest molecule, in atoms, that is kept unless another limit is given."""


def graphs_of_smiles(
    smiles: Sequence[str],
    label: npt.NDArray[Any] | None = None,
    *,
    first_row: int = 0,
    max_nodes: int = MAX_NODES,
    one_form: bool = False,
    standardised: bool = False,
    structure_key: bool = False,
    scaffold_key: bool = False,
    compute: Callable[[Any], npt.NDArray[Any]] | None = None,
) -> Graphs:
    """Return the graphs of molecules; what has no graph is skipped.

    The graphs equal those of ``ogb.utils.smiles2graph``: of the SMILES as given or, with `one_form`, of the canonical
    SMILES, so that a molecule has one graph however it was written.

    Salts and fragments stay as they are given, parts of one graph that no path joins, unless `standardised` is true.

    Parameters
    ----------
    smiles
        R molecules.
    label
        Their labels, shape (R, ...); None for none, which makes labels of shape (G, 0).
    first_row
        The row of the first of them.
    max_nodes
        The largest molecule that is kept, in atoms.
    one_form
        Whether molecules are brought to their canonical form first (see `grpe_dgl.data.molecules.canonical`). OGB's own
        datasets are made without.
    standardised
        Whether molecules are brought to their standard form first (see `grpe_dgl.data.molecules.standardise`).
    structure_key, scaffold_key
        Whether to give each molecule a number that equal molecules share (see `duplicates`), and one
        that molecules of the same scaffold share: columns 0 and 1 of `Graphs.key`, 0 where not requested.
    compute
        Instead of `label`: returns the label, (T,), of an RDKit molecule.

    Returns
    -------
    Graphs
        Of the G molecules that were not skipped; `node_feat` is (N, 9) uint8, `edge_type` is 0..59.
    """
    columns = MoleculeColumns.new(len(smiles))
    only_columns = not (standardised or scaffold_key or compute is not None)
    read = molecule_of_smiles if only_columns else Chem.MolFromSmiles
    kept, sizes, scaffolds, skipped, computed = [], [], [], [], []
    with BlockLogs():  # RDKit logs what it cannot read to standard error; here the reason is returned
        for i, text in enumerate(smiles):
            try:
                molecule: Any = read(text)
                reason = _why_not(molecule, text, max_nodes)
                if reason is None:
                    molecule, written = standardise(molecule, text) if standardised else (molecule, text)
                    molecule, written = canonicalise(molecule, written, read) if one_form else (molecule, written)
                    scaffold_of_row = _key(scaffold(molecule)) if scaffold_key else 0
                    label_of_row = None if compute is None else compute(molecule)
                    columns.add(molecule)
            except KeyError as error:
                reason = f"{text!r} has a bond that OGB's columns have no code for: {error.args[0]}"
            except Exception as error:  # RDKit's C++ code raises errors of any type; none may end the whole table
                reason = f"{text!r} cannot be read: {_first_line(error)}"
            if reason is not None:
                skipped.append(Skipped(first_row + i, reason))
                continue
            kept.append(i)
            sizes.append((molecule.GetNumAtoms(), 2 * molecule.GetNumBonds()))
            scaffolds.append(scaffold_of_row)
            computed.append(label_of_row)
    num_nodes, num_edges = np.array(sizes, np.int64).reshape(-1, 2).T
    src, dst, edge_type = columns.edges()
    node_feat = columns.node_feat()
    key = None
    if structure_key or scaffold_key:
        key = np.zeros((len(kept), 2), np.uint64)
        key[:, 0] = structure_keys(num_nodes, num_edges, node_feat, src, dst) if structure_key else 0
        key[:, 1] = scaffolds
    if compute is not None and kept:
        of_kept = np.stack([values for values in computed if values is not None])
    else:
        of_kept = np.zeros((len(kept), 0), np.float32) if label is None else label[kept]
    return Graphs(
        num_nodes=num_nodes,
        num_edges=num_edges,
        node_feat=node_feat,
        src=src,
        dst=dst,
        edge_type=edge_type,
        label=of_kept,
        smiles=tuple(smiles[i] for i in kept),
        skipped=tuple(skipped),
        key=key,
    )


def scaffold(molecule: Any) -> str:
    """Return the SMILES of a molecule's Murcko scaffold, chirality included, as OGB's splits have it."""
    from rdkit.Chem.Scaffolds import MurckoScaffold  # here for start-up time: it loads most of RDKit

    return str(MurckoScaffold.MurckoScaffoldSmiles(mol=molecule, includeChirality=True))


def canonical_key(smiles: str, *, standardised: bool = False) -> int:
    """Return a hash of a molecule's canonical SMILES, of its standard form if asked; 0 if it cannot be read."""
    text = canonical(smiles, standardised=standardised)
    return 0 if text is None else _key(text)


def canonical(smiles: str, *, standardised: bool = False) -> str | None:
    """Return RDKit's canonical SMILES of a molecule, of its standard form if asked, or None if it cannot be read."""
    with BlockLogs():
        try:
            molecule = Chem.MolFromSmiles(smiles)
            if molecule is not None and standardised:
                molecule, _ = standardise(molecule, smiles)
            return None if molecule is None else str(Chem.MolToSmiles(molecule))
        except Exception:  # whatever RDKit raises for one molecule
            return None


def _key(text: str) -> int:
    """Return a 64-bit hash: the chance that any two of four million texts collide is one in two million."""
    return int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "little")


def _why_not(molecule: Any, smiles: str, max_nodes: int) -> str | None:
    """Return the reason why a SMILES has no graph; None if it has one."""
    if isinstance(smiles, NoMolecule):
        return smiles.reason
    if molecule is None:
        return f"{smiles!r} cannot be read: {_problem(smiles)}"
    n = molecule.GetNumAtoms()
    if n == 0:
        return f"{smiles!r} has no atoms"
    if n > max_nodes:
        return f"the molecule has {n} atoms; max_nodes is {max_nodes}"
    return None


def _problem(smiles: str) -> str:
    """Return the reason why RDKit did not read a molecule."""
    molecule = Chem.MolFromSmiles(smiles, sanitize=False)
    if molecule is None:
        return "it is not a SMILES"
    try:
        problems = Chem.DetectChemistryProblems(molecule)
    except Exception as error:  # [CH128]: a violated pre-condition of RDKit's own
        return _first_line(error)
    return " ".join(problems[0].Message().split()) if problems else "RDKit cannot make a molecule of it"


def _first_line(error: Exception) -> str:
    """Return what an error of RDKit states, without its trace of the C++ code."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip().strip("*-")]
    return f"RDKit fails with {' '.join(lines[:2])}" if lines else f"RDKit fails with {type(error).__name__}"


def with_lines(graphs: Graphs, lines: Sequence[int], first_row: int, noun: str = "line") -> Graphs:
    """Return the graphs with each skipped row's line in the file, ``lines[row - first_row]``, before its reason."""
    return replace(
        graphs,
        skipped=tuple(
            Skipped(skip.row, f"{noun} {lines[skip.row - first_row]}: {skip.reason}") for skip in graphs.skipped
        ),
    )
