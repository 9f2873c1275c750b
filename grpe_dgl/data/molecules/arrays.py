"""Molecules in memory, in the arrays of a processed dataset, and the RDKit molecule of a graph."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from rdkit import Chem
from rdkit.rdBase import BlockLogs

from grpe_dgl.data.catalogue import MOLECULES
from grpe_dgl.data.molecules.canonical import canonicalise
from grpe_dgl.data.molecules.columns import MoleculeColumns
from grpe_dgl.data.molecules.smiles import MAX_NODES, graphs_of_smiles
from grpe_dgl.data.molecules.standardise import standardise
from grpe_dgl.data.store.arrays import ArraysInMemory, GraphArrays
from grpe_dgl.data.store.validation import pack
from grpe_dgl.schema import unlabelled

_SCHEMA = unlabelled(MOLECULES)


def read_molecules(
    smiles: Sequence[str], max_nodes: int = MAX_NODES, *, standardised: bool = False
) -> tuple[list[str | None], ArraysInMemory]:
    """Return why each of R molecules has no graph, None where it has one, and the arrays of those that have one.

    `standardised` is the model's `Schema.standardised_molecules`.
    """
    schema = replace(_SCHEMA, standardised_molecules=standardised)
    run = pack(graphs_of_smiles(smiles, max_nodes=max_nodes, one_form=True, standardised=standardised), schema)
    errors: list[str | None] = [None] * len(smiles)
    for skip in run.graphs.skipped:
        errors[skip.row] = skip.reason
    return errors, ArraysInMemory(run, schema)


def molecule_of_graph(smiles: str, arrays: GraphArrays, graph: int) -> Any | None:
    """Return the RDKit molecule whose atom i is node i of a graph; None if the SMILES does not give that graph.

    A graph was made of its SMILES as given (OGB's datasets), in its canonical form, or in the canonical form of its
    standard form; the one whose atoms and bonds equal the graph's is returned.
    """
    nodes = slice(int(arrays.node_offsets[graph]), int(arrays.node_offsets[graph + 1]))
    edges = slice(int(arrays.edge_offsets[graph]), int(arrays.edge_offsets[graph + 1]))
    with BlockLogs():
        try:
            molecule = Chem.MolFromSmiles(smiles)
            if molecule is None:
                return None
            standard = canonicalise(*standardise(molecule, smiles))
            for candidate, _ in (canonicalise(molecule, smiles), (molecule, smiles), standard):
                columns = MoleculeColumns.new(1)
                columns.add(candidate)
                features = columns.node_feat()
                src, dst, _ = columns.edges()
                if (
                    np.array_equal(features, arrays.node_feat[nodes])
                    and np.array_equal(src, arrays.src[edges])
                    and np.array_equal(dst, arrays.dst[edges])
                ):
                    return candidate
        except Exception:  # whatever RDKit raises for one molecule
            return None
    return None
