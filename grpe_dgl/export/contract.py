"""``model.json``: the inputs, outputs and codes of an exported model, for programs without DGL."""

from typing import Any

from grpe_dgl.checkpoint.file import Checkpoint
from grpe_dgl.data.molecules.columns import ogb_features
from grpe_dgl.data.molecules.descriptors import NAMES
from grpe_dgl.data.molecules.standardise import RULE
from grpe_dgl.relations import Relations
from grpe_dgl.schema import Schema
from grpe_dgl.version import __version__
from grpe_dgl.views import DESCRIPTORS, Encoding, PairView

FORMAT = "grpe-dgl exported model"
FORMAT_VERSION = 1
# The names under which OGB lists the values of each column, in the order of the columns.
ATOM_LISTS = (
    "possible_atomic_num_list",
    "possible_chirality_list",
    "possible_degree_list",
    "possible_formal_charge_list",
    "possible_numH_list",
    "possible_number_radical_e_list",
    "possible_hybridization_list",
    "possible_is_aromatic_list",
    "possible_is_in_ring_list",
)
BOND_LISTS = ("possible_bond_type_list", "possible_bond_stereo_list", "possible_is_conjugated_list")


def contract(checkpoint: Checkpoint, *, files: dict[str, str], opset: int | None) -> dict[str, Any]:
    """Return the content of ``model.json``, plain JSON values.

    Parameters
    ----------
    checkpoint
        The model.
    files
        The file of each format, relative to ``model.json``.
    opset
        Of the ONNX file; None without one.
    """
    schema, view = checkpoint.schema, checkpoint.recipe.model.view
    assert isinstance(view, PairView)  # `export` refuses models that take no padded batches
    relations = Relations(view.max_distance, schema.num_edge_types)
    task = schema.task
    own = relations.num_edge_types
    return {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "library_version": __version__,
        "files": files,
        "opset": opset,
        "inputs": [
            {
                "name": "nodes",
                "dtype": "float32" if schema.node_vocabulary is None else "int64",
                "shape": ["batch", "nodes", schema.num_node_columns],
                "meaning": "features; node 0 of every graph is the virtual node, which has zeros, and so has padding",
            },
            {
                "name": "relation",
                "dtype": "int64",
                "shape": ["batch", "nodes", "nodes"],
                "meaning": "relation of query (row) and key (column), by the rules under `relations`; 0 for padding",
            },
            {
                "name": "mask",
                "dtype": "bool",
                "shape": ["batch", "nodes"],
                "meaning": "true for the virtual node and real nodes, false for padding",
            },
            *_descriptors(view),
        ],
        "outputs": [
            {
                "name": "prediction",
                "dtype": "float32",
                "shape": ["batch", *([] if task.level == "graph" else ["nodes"]), task.num_outputs],
                "columns": task.output_columns(),
                "meaning": ("probabilities" if task.kind != "regression" else "in the targets' own unit")
                + ("" if task.level == "graph" else "; row 0, the virtual node's, means nothing"),
            }
        ],
        "relations": {
            "edge": "a pair with an edge has its type, 0 .. num_edge_types - 1",
            "num_edge_types": own,
            "max_distance": relations.max_distance,
            "self": own,
            "virtual": relations.virtual,
            "distance": {str(d): own + d for d in range(2, relations.max_distance + 1)},
            "far": own + relations.spd_far,
            "unreachable": own + relations.spd_unreachable,
            "undirected": schema.undirected,
            "direction": "the distance of a pair is that of the shortest path from key to query"
            + (", the same both ways" if schema.undirected else ", along the edges"),
        },
        "task": {
            "level": task.level,
            "kind": task.kind,
            "targets": list(task.targets),
            "classes": list(task.classes),
            "positive": list(task.positive),
            "negative": list(task.negative),
        },
        "vocabulary": _vocabulary(schema),
        "dataset": schema.name,
    }


def _descriptors(view: PairView) -> list[dict[str, Any]]:
    """Return the input of descriptors, for a model that reads them."""
    kinds = [encoding for encoding in map(Encoding.parse, view.encodings) if encoding.kind in DESCRIPTORS]
    return [
        {
            "name": "descriptors",
            "dtype": "float32",
            "shape": ["batch", kind.size],
            "columns": list(NAMES),
            "meaning": "RDKit's descriptors of these names (rdkit.Chem.Descriptors.descList) of the molecule in the "
            "form that `vocabulary` describes, as they are; NaN where there is none, or beyond float32",
        }
        for kind in kinds
    ]


def _vocabulary(schema: Schema) -> dict[str, Any]:
    """Return the features of nodes and edges; for molecules, every value of every column."""
    vocabulary: dict[str, Any] = {
        "name": schema.vocabulary,
        "node_vocabulary": None if schema.node_vocabulary is None else list(schema.node_vocabulary),
        "node_features": schema.node_features,
    }
    if schema.vocabulary == "ogb":
        lists = ogb_features()
        vocabulary["canonical_smiles"] = True
        vocabulary["standardise"] = schema.standardised_molecules
        first = f"brought to its standard form ({RULE}), " if schema.standardised_molecules else ""
        vocabulary["molecules"] = (
            f"a molecule is read from its SMILES, {first}written as RDKit's canonical SMILES without atom map numbers, "
            "and read again, until the canonical SMILES stays the same (at most 3 times); it has the result's columns"
        )
        vocabulary["unlisted"] = "a value that a column does not list has the number of its last value"
        vocabulary["atom_columns"] = [{"name": _name(key), "values": lists[key]} for key in ATOM_LISTS]
        vocabulary["bond_columns"] = [{"name": _name(key), "values": lists[key]} for key in BOND_LISTS]
        vocabulary["edge_type"] = "the bond columns as a mixed-radix number: (type * 6 + stereo) * 2 + conjugated"
    return vocabulary


def _name(key: str) -> str:
    return key.removeprefix("possible_").removesuffix("_list")
