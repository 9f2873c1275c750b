"""The formula of the paper as loops over numbers, written from `relative_attention`'s docstring and Eq. 6-9."""

import math


def naive_attention(pairs, q, k, v, encodings, *, key_term):
    """z as nested lists; P and E are looked up and added per pair, as the paper writes it."""
    num_nodes, num_heads, head_size = q.shape
    rows = {
        name: None if table is None else table.weight.detach().view(-1, num_heads, head_size).tolist()
        for name, table in encodings.named_children()
    }
    for name in ("query_spd", "query_edge", "key_spd", "key_edge", "value_spd", "value_edge"):
        rows.setdefault(name, None)
    q, k, v = q.tolist(), k.tolist(), v.tolist()
    spd, edge = pairs.edata["spd"].tolist(), pairs.edata["edge"].tolist()
    keys_of = {i: [] for i in range(num_nodes)}
    for pair, (j, i) in enumerate(zip(*(end.tolist() for end in pairs.edges(order="eid")), strict=True)):
        keys_of[i].append((j, spd[pair], edge[pair]))

    def dot(x, y):
        return sum(a * b for a, b in zip(x, y, strict=True))

    def row(name, code, h):
        return rows[name][code][h] if rows[name] is not None else [0.0] * head_size

    z = [[[0.0] * head_size for _ in range(num_heads)] for _ in range(num_nodes)]
    for i in range(num_nodes):
        for h in range(num_heads):
            scores = []
            for j, psi, e in keys_of[i]:
                key = k[j][h] if key_term == "neighbour" else k[i][h]
                score = dot(q[i][h], k[j][h])
                score += dot(q[i][h], row("query_spd", psi, h)) + dot(key, row("key_spd", psi, h))
                score += dot(q[i][h], row("query_edge", e, h)) + dot(key, row("key_edge", e, h))
                scores.append(score / math.sqrt(head_size))
            total = sum(math.exp(score) for score in scores)
            for score, (j, psi, e) in zip(scores, keys_of[i], strict=True):
                for d in range(head_size):
                    value = v[j][h][d] + row("value_spd", psi, h)[d] + row("value_edge", e, h)[d]
                    z[i][h][d] += math.exp(score) / total * value
    return z
