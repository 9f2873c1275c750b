"""The check that every transform makes of its input."""

import dgl

from grpe_dgl.errors import InputError


def require_homogeneous(graph: dgl.DGLGraph, transform: str) -> None:
    """Raise unless `graph` is one homogeneous DGLGraph, or a batch of at least one."""
    if not isinstance(graph, dgl.DGLGraph):
        raise InputError(f"{transform} got {type(graph).__name__}; accepted: a DGLGraph")
    if not graph.is_homogeneous:
        raise InputError(
            f"{transform} got a heterograph with node types {graph.ntypes} and edge types {graph.etypes}; "
            "accepted: a homogeneous graph (see dgl.to_homogeneous)"
        )
    if graph.batch_size == 0:
        raise InputError(f"{transform} got an empty batch; accepted: at least one graph")
