import dgl
import numpy as np
import pytest

from grpe_dgl.data.encodings.compute import KINDS, canonical_signs, encode_graphs
from grpe_dgl.errors import InputError
from grpe_dgl.views import ENCODINGS, Encoding, GraphView

PATH = (np.array([0, 1, 2, 3]), np.array([1, 2, 3, 4]))  # a path of five nodes, each edge in one direction


def encode(name, n=5, edges=PATH, undirected=True):
    src, dst = edges
    return encode_graphs(
        np.array([n]), np.array([len(src)]), src, dst, Encoding.parse(name), undirected=undirected
    )  # fmt: skip


def normalised_laplacian(n, src, dst):
    """The formula, densely: I - D^-1/2 A D^-1/2 with every edge once in each direction."""
    adjacency = np.zeros((n, n))
    adjacency[src, dst] = adjacency[dst, src] = 1.0
    scale = np.maximum(adjacency.sum(0), 1.0) ** -0.5
    return np.eye(n) - scale[:, None] * adjacency * scale


def test_laplacian_vectors_solve_the_eigenvalue_problem_and_skip_the_first():
    vectors, values = encode("laplacian:3")
    matrix = normalised_laplacian(5, *PATH)
    np.testing.assert_allclose(values[0], np.linalg.eigvalsh(matrix)[1:4], atol=1e-6)
    np.testing.assert_allclose(matrix @ vectors, vectors * values[0], atol=1e-6)
    np.testing.assert_allclose((vectors**2).sum(0), 1.0, atol=1e-6)


def random_edges(n, seed):
    """A path of n nodes with n // 2 further edges, self-loops among them."""
    extra = np.random.default_rng(seed).integers(n, size=(2, n // 2))
    return tuple(
        np.concatenate([ends, more]) for ends, more in zip((np.arange(n - 1), np.arange(1, n)), extra, strict=True)
    )


@pytest.mark.parametrize("n", [5, 9, 20, 40])
def test_the_laplacian_of_a_larger_graph_is_exact_and_the_same_every_time(n):
    edges = random_edges(n, seed=n)
    vectors, values = encode("laplacian:4", n=n, edges=edges)
    matrix = normalised_laplacian(n, *edges)
    np.testing.assert_allclose(values[0], np.linalg.eigvalsh(matrix)[1:5], atol=1e-6)
    np.testing.assert_allclose(matrix @ vectors, vectors * values[0], atol=1e-6)
    again, same = encode("laplacian:4", n=n, edges=edges)
    np.testing.assert_array_equal(vectors, again)
    np.testing.assert_array_equal(values, same)


@pytest.mark.skipif(not dgl.__version__.startswith("1."), reason="DGL 2 computes it to a tolerance of 0.01")
@pytest.mark.parametrize("n", [2, 5, 9, 40])
def test_the_laplacian_is_that_of_dgl(n):
    src, dst = random_edges(n, seed=n)
    graph = dgl.to_simple(dgl.graph((np.concatenate([src, dst]), np.concatenate([dst, src])), num_nodes=n))
    expected, values = dgl.lap_pe(graph, 4, padding=True, return_eigval=True)
    found, own_values = encode("laplacian:4", n=n, edges=(src, dst))
    np.testing.assert_array_equal(found, expected.numpy() * canonical_signs(expected.numpy()))
    np.testing.assert_array_equal(own_values[0], values.numpy())


@pytest.mark.parametrize("undirected", [True, False])
def test_direction_and_duplicates_do_not_change_the_laplacian(undirected):
    once, values = encode("laplacian:4")
    twice, other = encode("laplacian:4", edges=tuple(np.concatenate([end, end]) for end in PATH), undirected=undirected)
    np.testing.assert_array_equal(once, twice)
    np.testing.assert_array_equal(values, other)


@pytest.mark.parametrize("n", [1, 2, 3])
def test_small_graphs_are_padded(n):
    edges = (np.arange(n - 1), np.arange(1, n))
    vectors, values = encode("laplacian:4", n=n, edges=edges)
    assert vectors.shape == (n, 4) and values.shape == (1, 4)
    assert (vectors[:, n - 1 :] == 0).all() and np.isnan(values[0, n - 1 :]).all()
    assert np.isfinite(values[0, : n - 1]).all() and (np.abs(vectors[:, : n - 1]).max(0, initial=1) > 0.4).all()
    nodes, _ = encode("svd:3", n=n, edges=edges)
    assert nodes.shape == (n, 6)
    assert (nodes[:, n:3] == 0).all() and (nodes[:, 3 + n :] == 0).all()


def test_combinatorial_laplacian_vectors_solve_the_eigenvalue_problem_and_skip_the_first():
    src, dst = np.append(PATH[0], [0, 3]), np.append(PATH[1], [1, 3])  # a duplicate edge and a self-loop count nothing
    vectors, values = encode("combinatorial_laplacian:3", edges=(src, dst))
    adjacency = np.zeros((5, 5))
    adjacency[PATH[0], PATH[1]] = adjacency[PATH[1], PATH[0]] = 1.0
    matrix = np.diag(adjacency.sum(0)) - adjacency
    np.testing.assert_allclose(matrix @ vectors, vectors * np.linalg.eigvalsh(matrix)[1:4], atol=1e-6)
    np.testing.assert_allclose((vectors**2).sum(0), 1.0, atol=1e-6)
    assert values is None


def test_combinatorial_laplacian_vectors_of_eigenvalue_0_are_constant_on_components():
    # A path of five nodes beside a ring of three and a single node, in an order that mixes them.
    order = np.array([4, 0, 7, 2, 8, 5, 1, 3, 6])
    src, dst = order[[0, 1, 2, 3, 5, 6, 7]], order[[1, 2, 3, 4, 6, 7, 5]]
    vectors, _ = encode("combinatorial_laplacian:3", n=9, edges=(src, dst))
    for nodes in (order[:5], order[5:8]):
        assert (vectors[nodes, :2] == vectors[nodes[0], :2]).all()
    assert len(np.unique(vectors[:, 0])) > 1 and np.ptp(vectors[order[:5], 2]) > 0.1


@pytest.mark.parametrize("n", [1, 2])
def test_combinatorial_laplacian_of_small_graphs_is_padded(n):
    vectors, _ = encode("combinatorial_laplacian:3", n=n, edges=(np.arange(n - 1), np.arange(1, n)))
    assert vectors.shape == (n, 3) and (vectors[:, n - 1 :] == 0).all()
    assert (np.abs(vectors[:, : n - 1]) > 0.7).all()


def test_svd_halves_rebuild_the_adjacency_matrix():
    nodes, values = encode("svd:5")
    adjacency = np.zeros((5, 5))
    adjacency[PATH[0], PATH[1]] = adjacency[PATH[1], PATH[0]] = 1.0
    np.testing.assert_allclose(nodes[:, :5] @ nodes[:, 5:].T, adjacency, atol=1e-5)
    assert values is None
    small, _ = encode("svd:8")  # padded within each half
    np.testing.assert_array_equal(small[:, :5], nodes[:, :5])
    np.testing.assert_array_equal(small[:, 8:13], nodes[:, 5:])


def test_random_walk_returns_by_hand():
    nodes, values = encode("random_walk:2", n=3, edges=(np.array([0, 1]), np.array([1, 2])))
    np.testing.assert_allclose(nodes, [[0, 0.5], [0, 1], [0, 0.5]], atol=1e-7)
    assert values is None


def test_signs_make_the_first_largest_entry_positive():
    vectors = np.array([[-0.5, 0.5], [0.5, -0.7]], np.float32)
    np.testing.assert_array_equal(canonical_signs(vectors), [-1, -1])
    again = [encode("laplacian:3")[0] for _ in range(8)]  # DGL draws signs; ours are the same every time
    assert all(np.array_equal(again[0], other) for other in again)


def test_equal_eigenvalues_give_real_finite_numbers():
    ring = dgl.graph((np.arange(12), (np.arange(12) + 1) % 12))
    src, dst = (end.numpy() for end in ring.edges())
    vectors, values = encode("laplacian:11", n=12, edges=(src, dst))
    assert np.isfinite(vectors).all() and np.isfinite(values).all()


def test_names_are_checked():
    for name in ("laplacian", "laplacian:0", "laplace:3", "laplacian:x", "laplacian:1001"):
        with pytest.raises(InputError, match="accepted: KIND:SIZE such as laplacian:8"):
            Encoding.parse(name)
    with pytest.raises(InputError, match="one of each kind"):
        GraphView(encodings=("laplacian:2", "laplacian:3"))
    assert set(KINDS) == set(ENCODINGS)
    assert all(Encoding(name, 3).columns == 3 * kind.columns for name, kind in KINDS.items())


def test_spectrum_has_the_first_eigenvector_too_and_small_graphs_are_padded():
    vectors, values = encode("spectrum:7")
    matrix = normalised_laplacian(5, *PATH)
    np.testing.assert_allclose(values[0, :5], np.linalg.eigvalsh(matrix), atol=1e-6)
    np.testing.assert_allclose(matrix @ vectors[:, :5], vectors[:, :5] * values[0, :5], atol=1e-6)
    assert (vectors[:, 5:] == 0).all() and np.isnan(values[0, 5:]).all()
    degrees = np.array([1, 2, 2, 2, 1])
    np.testing.assert_allclose(vectors[:, 0], np.sqrt(degrees / 8), atol=1e-6)  # of eigenvalue 0
    np.testing.assert_allclose(encode("laplacian:2")[0], vectors[:, 1:3], atol=1e-5)


def test_svd_self_loops_rebuilds_the_adjacency_matrix_with_one_loop_a_node():
    adjacency = np.eye(5)
    adjacency[PATH[0], PATH[1]] = adjacency[PATH[1], PATH[0]] = 1.0
    with_a_loop = tuple(np.append(ends, 2) for ends in PATH)
    for edges in (PATH, with_a_loop):
        nodes, _ = encode("svd_self_loops:5", edges=edges)
        np.testing.assert_allclose(nodes[:, :5] @ nodes[:, 5:].T, adjacency, atol=1e-5)
