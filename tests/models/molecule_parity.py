"""Name maps that several fixtures of molecule models share: OGB's encoders, and hidden states by hooks."""

from tests.models.published import joined


def encoder_sizes(state, prefix):
    """Return how many values each column of an encoder of the original has, from the shapes of its tables."""
    return tuple(len(state[name]) for name in _tables(state, prefix))


def atoms(state, prefix, ours="nodes"):
    """Return the map of the node embedding: one table of ours joins theirs of all columns."""
    return {f"{ours}.embedding.weight": joined(*_tables(state, prefix))}


def bonds(state, ours, prefix):
    """Return the map of an edge embedding."""
    return atoms(state, prefix, ours)


def capture(modules):
    """Return a list that the modules' outputs are added to whenever they are called."""
    found = []
    for module in modules:
        module.register_forward_hook(lambda module, inputs, output: found.append(output))
    return found


def _tables(state, prefix):
    names, column = [], 0
    while f"{prefix}.{column}.weight" in state:
        names.append(f"{prefix}.{column}.weight")
        column += 1
    assert names, f"no table called {prefix}.0.weight"
    return names
