"""The authors' model as DESIGN describes it, straight from its state dict; checked against their own numbers."""

import math

import torch
from torch.nn import functional as F


def reference_logits(state, inputs, *, num_heads, features=None):
    """Return logits (B, T); inputs as in the parity files, `features` (B, N, F) for linear node embeddings."""
    return reference_model(state, inputs, num_heads=num_heads, features=features)[0]


def reference_parity(state, inputs, *, num_heads):
    """Return what a parity file holds: logits, hidden states after every layer, and gradients of ``logits.sum()``."""
    leaves = {key: value.clone().requires_grad_() for key, value in state.items()}
    logits, hidden = reference_model(leaves, inputs, num_heads=num_heads)
    logits.sum().backward()
    grads = {key: torch.zeros_like(leaf) if leaf.grad is None else leaf.grad for key, leaf in leaves.items()}
    return {
        "kwargs": {"nhead": num_heads},
        "state": state,
        "inputs": inputs,
        "logits": logits.detach(),
        "hidden": [x.detach() for x in hidden],
        "grads": grads,
    }


def reference_model(state, inputs, *, num_heads, features=None):
    """Return logits (B, T) and x after every layer, (B, N + 1, d) each, task token first."""
    hidden = []
    x, mask = inputs["x"], inputs["mask"]
    batch, n = mask.shape
    if features is None:
        nodes = F.embedding(x.clamp(min=0), state["node_emb.weight"]).sum(-2)
    else:
        nodes = features @ state["node_emb.weight"].T + state["node_emb.bias"]
    x = torch.cat([state["task_token.weight"].expand(batch, 1, -1), nodes], 1)  # (B, N + 1, d)
    layers = 1 + max(int(key.split(".")[1]) for key in state if key.startswith("layers."))

    def table(name, layer):
        return state.get(f"{name}.weight", state.get(f"{name}.{layer}.weight"))

    max_hop, codes = len(table("query_hop_emb", 0)) - 3, len(table("query_edge_emb", 0)) - 4
    hop = torch.full((batch, n + 1, n + 1), max_hop + 1)
    distance = inputs["distance"]
    hop[:, 1:, 1:] = torch.where(distance < 0, max_hop + 2, distance.clamp(max=max_hop))
    hop[:, 0, 0] = 0
    edge = torch.full((batch, n + 1, n + 1), codes + 1)
    edge[:, 1:, 1:] = torch.where(inputs["edge_attr"] < 0, codes + 3, inputs["edge_attr"])
    edge[:, 0, 0] = codes + 3
    padding = torch.cat([mask.new_zeros(batch, 1), mask], 1)

    for i in range(layers):
        at = f"layers.{i}."

        def linear(name, x, at=at):
            return F.linear(x, state[f"{at}{name}.weight"], state[f"{at}{name}.bias"])

        def norm(name, x, at=at):
            return F.layer_norm(x, x.shape[-1:], state[f"{at}{name}.weight"], state[f"{at}{name}.bias"])

        def heads(x):
            return x.unflatten(-1, (num_heads, -1))

        y = norm("self_attention_norm", x)
        q, k, v = (heads(linear(f"self_attention.linear_{letter}", y)) for letter in "qkv")  # (B, N, H, D)
        rows = {
            use: heads(table(f"{use}_hop_emb", i))[hop] + heads(table(f"{use}_edge_emb", i))[edge]
            for use in ("query", "key", "value")
        }  # (B, N, N, H, D): no matter, it is small
        scores = torch.einsum("bihd,bjhd->bijh", q, k)
        scores = scores + torch.einsum("bihd,bijhd->bijh", q, rows["query"])
        scores = scores + torch.einsum("bihd,bijhd->bijh", k, rows["key"])  # the query node's key
        scores = (scores / math.sqrt(q.shape[-1])).masked_fill(padding[:, None, :, None], -math.inf)
        weights = scores.softmax(2)
        z = torch.einsum("bijh,bijhd->bihd", weights, v.unsqueeze(1) + rows["value"])
        x = x + linear("self_attention.output_layer", z.flatten(-2))
        x = x + linear("ffn.layer2", F.gelu(linear("ffn.layer1", norm("ffn_norm", x))))
        hidden.append(x)
    y = F.layer_norm(x[:, 0], x.shape[-1:], state["final_ln.weight"], state["final_ln.bias"])
    i = 0
    while f"last_mlp.{i}.0.weight" in state:
        y = F.gelu(F.linear(y, state[f"last_mlp.{i}.0.weight"], state[f"last_mlp.{i}.0.bias"]))
        i += 1
    return F.linear(y, state["linear.weight"], state["linear.bias"]), hidden
