"""State dicts of the authors' layout with random weights, and inputs for them."""

import torch

from grpe_dgl.vocabularies import VOCABULARIES


def random_state(
    *,
    layers=2,
    hidden=12,
    ffn=20,
    max_hop=4,
    codes=5,
    node_rows=7,
    node_features=None,
    shared=True,
    head_sizes=(),
    outputs=3,
    seed=0,
):
    generator = torch.Generator().manual_seed(seed)

    def randn(*shape):
        return torch.randn(*shape, generator=generator, dtype=torch.float64)

    state = {"task_token.weight": randn(1, hidden)}
    if node_features is None:
        state["node_emb.weight"] = randn(node_rows, hidden)
    else:
        state |= {"node_emb.weight": randn(hidden, node_features), "node_emb.bias": randn(hidden)}
    for use in ("query", "key", "value"):
        for kind, rows in (("hop", max_hop + 3), ("edge", codes + 4)):
            for layer in [""] if shared else [f".{i}" for i in range(layers)]:
                state[f"{use}_{kind}_emb{layer}.weight"] = randn(rows, hidden)

    def linear(name, out, into):
        state[f"{name}.weight"] = randn(out, into) / into**0.5
        state[f"{name}.bias"] = randn(out)

    def norm(name):
        state[f"{name}.weight"] = randn(hidden)
        state[f"{name}.bias"] = randn(hidden)

    for i in range(layers):
        norm(f"layers.{i}.self_attention_norm")
        for part in ("linear_q", "linear_k", "linear_v", "output_layer"):
            linear(f"layers.{i}.self_attention.{part}", hidden, hidden)
        norm(f"layers.{i}.ffn_norm")
        linear(f"layers.{i}.ffn.layer1", ffn, hidden)
        linear(f"layers.{i}.ffn.layer2", hidden, ffn)
    norm("final_ln")
    widths = [hidden, *head_sizes]
    for i, (into, out) in enumerate(zip(widths, widths[1:], strict=False)):
        linear(f"last_mlp.{i}.0", out, into)
    linear("linear", outputs, widths[-1])
    return state


def random_inputs(*, codes=5, node_rows=7, seed=1):
    """Two graphs of 6 and 4 nodes, paths and some more edges, padded to 6; as the parity files have them."""
    generator = torch.Generator().manual_seed(seed)
    x = torch.randint(1, node_rows, (2, 6, 1), generator=generator)
    mask = torch.arange(6) >= torch.tensor([[6], [4]])
    edges = torch.full((2, 6, 6), -1)
    for b, ends in enumerate([[(0, 1), (1, 2), (2, 3), (3, 4)], [(0, 1), (2, 3)]]):  # node 5 of the first stands alone
        for u, v in ends:
            edges[b, u, v] = edges[b, v, u] = int(torch.randint(codes, (), generator=generator))
    distance = torch.where(edges >= 0, 1.0, torch.inf)
    distance[:, range(6), range(6)] = 0
    for k in range(6):
        distance = torch.minimum(distance, distance[:, :, k : k + 1] + distance[:, k : k + 1, :])
    distance = torch.where(distance.isinf(), -1, distance).long()
    x[mask] = -1
    return {"x": x, "distance": distance, "edge_attr": edges, "mask": mask}


def random_molecules(*, codes=30, seed=2):
    """The graphs of `random_inputs` with OGB's atom and bond columns, and the authors' rows and codes for them."""
    generator = torch.Generator().manual_seed(seed)
    inputs = random_inputs(seed=seed)
    mask, bonded = inputs["mask"], inputs["edge_attr"] >= 0
    sizes = VOCABULARIES["ogb"].node_columns
    atom = torch.stack([torch.randint(size, mask.shape, generator=generator) for size in sizes], -1)  # (B, N, 9)
    x = atom + 1 + 512 * torch.arange(len(sizes))
    bond = torch.stack([torch.randint(size, bonded.shape, generator=generator) for size in (4, 3, 2)], -1)
    bond = torch.where(torch.arange(6)[:, None, None] < torch.arange(6)[None, :, None], bond, bond.transpose(1, 2))
    code = bond @ torch.tensor([1, 4, 16])
    assert int(code[bonded].max()) < codes
    x[mask], atom[mask], bond[~bonded] = -1, -1, -1
    return {**inputs, "x": x, "edge_attr": torch.where(bonded, code, -1), "atom": atom, "bond": bond}
