"""The name map of what the models of benchmarking-gnns share: embeddings, positional encoding and head."""

import torch

from tests.models.published import batch_of, graph_schema, linear, node_schema, require_options, same


def schema_of(fixture):
    """Return the schema of a ZINC or SBM fixture, sizes from its settings."""
    kwargs = fixture["kwargs"]
    if "n_classes" in kwargs:
        return node_schema(fixture, (kwargs["in_dim"],))
    return graph_schema(fixture, (kwargs["num_atom_type"],), (kwargs["num_bond_type"],))


def settings_of(fixture):
    """Return the keys that every family of benchmarking-gnns has."""
    kwargs = fixture["kwargs"]
    width = kwargs["hidden_dim"] * kwargs.get("n_heads", 1)
    require_options(fixture, residual=True, batch_norm=True, out_dim=width)
    encoding = f"laplacian:{kwargs['pos_enc_dim']}" if kwargs.get("pos_enc") else None
    return {
        "layers": kwargs["L"],
        "hidden_size": kwargs["hidden_dim"],
        "dropout": kwargs["dropout"],
        "readout": kwargs["readout"],
        "encoding": encoding,
    }


def graph_of(fixture, schema, settings):
    """Return the fixture's batch with its own eigenvectors, whose signs and order are the fixture's."""
    graph = batch_of(fixture, schema, settings.view)
    if settings.encoding is not None:
        graph.ndata["laplacian"] = torch.cat([one["pos_enc"] for one in fixture["graphs"]])
    return graph


def shared_names(fixture):
    """Return the map of the embeddings and the head."""
    names = {"nodes.embedding.weight": same("embedding_h.weight")}
    if fixture["kwargs"].get("pos_enc"):
        names |= linear("encoding", "embedding_pos_enc")
    for number in range(3):
        if f"MLP_layer.FC_layers.{number}.weight" in fixture["state"]:
            names |= linear(f"head.{2 * number}", f"MLP_layer.FC_layers.{number}")
    return names
