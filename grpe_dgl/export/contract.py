"""``model.json``: the inputs, outputs and codes of an exported model, for programs without DGL."""

from typing import Any

from grpe_dgl.checkpoint.file import Checkpoint
from grpe_dgl.data.encodings.compute import KINDS
from grpe_dgl.data.molecules.columns import ogb_features
from grpe_dgl.data.molecules.descriptors import MORGAN_PLACES, MORGAN_RADIUS, NAMES
from grpe_dgl.data.molecules.standardise import RULE
from grpe_dgl.export.module import EncodingInput, encoding_inputs, relations_of
from grpe_dgl.schema import Schema
from grpe_dgl.version import __version__
from grpe_dgl.views import GraphView

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
ALONG_EDGES = (
    ": that of the edge from key (column) to query (row). An edge in the other direction is another, and a bond is one "
    "each way. There is place for one edge from a node to another and none to itself, so that graphs with parallel "
    "edges or self-loops cannot be predicted. All codes of pairs without an edge mean the same to this model"
)
_LAPLACIAN = (
    "I - D^-1/2 A D^-1/2, where A has 1 for every edge, {edges}, 0 elsewhere, and D the column sums of A, "
    "1 where that is 0"
)
_VECTORS = (
    "of length 1, by ascending eigenvalue; the sign of each makes its largest absolute entry, the first of those "
    "within 1e-5 of it, positive; zeros in columns that a small graph lacks, and for padding. Vectors of equal "
    "eigenvalues are not unique, and predictions depend on which are taken"
)
ENCODING_RULES = {
    "laplacian": f"the `size` eigenvectors after the first of {_LAPLACIAN}: {_VECTORS}: here those of numpy.linalg.eig",
    "spectrum": f"the first `size` eigenvectors of {_LAPLACIAN}: {_VECTORS}: here those of numpy.linalg.eigh",
    "spectrum_values": "the eigenvalues of `spectrum`, 0 or more; NaN for those that a graph of fewer nodes lacks",
    "svd_self_loops": (
        "singular vectors of the matrix with 1 on the diagonal and for every edge, {edges}, 0 elsewhere: by descending "
        "singular value s, U sqrt(s) in the first `size` columns and V sqrt(s) in the others; the sign of each pair of "
        "vectors makes the largest absolute entry of U sqrt(s), the first of those within 1e-5 of it, positive; zeros "
        "in the columns that a graph of fewer than `size` nodes lacks, and for padding. Vectors of equal singular "
        "values are not unique, and predictions depend on which are taken"
    ),
}
"""The rule of each input that holds an encoding, by its name."""
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
    relations = relations_of(view, schema)
    as_given = isinstance(view, GraphView)  # the model attends along the graph's own edges
    task = schema.task
    own = relations.num_edge_types
    virtual = "the virtual node and " if view.virtual_node else ""
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
                "meaning": (
                    "features; node 0 of every graph is the virtual node, which has zeros, and so has padding"
                    if view.virtual_node
                    else "features; zeros for padding"
                ),
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
                "meaning": f"true for {virtual}real nodes, false for padding",
            },
            *(_encoding(entry, schema) for entry in encoding_inputs(view)),
        ],
        "outputs": [
            {
                "name": "prediction",
                "dtype": "float32",
                "shape": ["batch", *([] if task.level == "graph" else ["nodes"]), task.num_outputs],
                "columns": task.output_columns(),
                "meaning": ("probabilities" if task.kind != "regression" else "in the targets' own unit")
                + ("; row 0, the virtual node's, means nothing" if task.level == "node" and view.virtual_node else ""),
            }
        ],
        "virtual_node": view.virtual_node,
        "relations": {
            "edge": "a pair with an edge has its type, 0 .. num_edge_types - 1" + (ALONG_EDGES if as_given else ""),
            "num_edge_types": own,
            "max_distance": relations.max_distance,
            "self": own,
            "virtual": relations.virtual,
            "distance": {str(d): own + d for d in range(2, relations.max_distance + 1)},
            "far": own + relations.spd_far,
            "unreachable": own + relations.spd_unreachable,
            "undirected": schema.undirected and not as_given,
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
            "thresholds": None if checkpoint.thresholds is None else list(checkpoint.thresholds),
        },
        "vocabulary": _vocabulary(schema),
        "dataset": schema.name,
    }


def _encoding(entry: EncodingInput, schema: Schema) -> dict[str, Any]:
    """Return the input of an encoding or of descriptors."""
    shape = ["batch", "nodes", entry.encoding.columns] if entry.per_node else ["batch", entry.encoding.size]
    content = {"name": entry.name, "dtype": "float32", "shape": shape}
    if entry.name == "descriptors":
        meaning = (
            "RDKit's descriptors of these names (rdkit.Chem.Descriptors.descList) of the molecule in the form that "
            "`vocabulary` describes, as they are; NaN where there is none, or beyond float32"
        )
        if entry.encoding.kind == "rdkit":
            return content | {"columns": list(NAMES), "meaning": meaning}
        morgan = {"radius": MORGAN_RADIUS, "size": MORGAN_PLACES}
        meaning += "; after them log(1 + c), c the counts of the Morgan fingerprint that `morgan` describes"
        return content | {"columns": list(NAMES), "morgan": morgan, "meaning": meaning}
    symmetric = schema.undirected or KINDS[entry.encoding.kind].symmetric
    edges = "in both directions" if symmetric else "its source the row and its destination the column"
    return content | {"size": entry.encoding.size, "meaning": ENCODING_RULES[entry.name].format(edges=edges)}


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
