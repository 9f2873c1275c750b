"""Fixtures of the published form but other sizes, made from our own models: what their tests must be able to load.

The numbers are ours, so a test that passes on such a fixture shows that it finds every size in the fixture, not that
the model is right. A name map takes tensors of the original to ours by joining, transposing and picking alone, so its
adjoint, which autograd computes, takes ours back.
"""

import contextlib
import importlib
import math
import re

import torch

from tests.models.published import Used, load_fixture
from tests.models.small_graphs import randomise


class Stop(Exception):
    """Ends a test once what it does is known."""


def resized(name, module, function, arguments, sizes, tables, graphs, monkeypatch, folder):
    """Write ``folder/NAME.pt`` with other sizes.

    Parameters
    ----------
    name, module, function, arguments
        The fixture, and the test of it.
    sizes
        Entries of its ``kwargs`` to change.
    tables
        Prefix of an encoder of the original -> the rows of its tables, or of the table itself.
    graphs
        From `grpe_dgl`'s own numbers: makes the graphs of the fixture, given the original and the new ``kwargs``.
    """
    module = importlib.import_module(module)
    original = load_fixture(name)
    if "batch" in original:
        original.pop("batch")
    test = getattr(module, function)
    seen = {}

    def stop_at_load(model, fixture, names):
        seen.update(model=model, names=names)
        raise Stop

    def run(fixture, **replaced):
        with monkeypatch.context() as patch:
            patch.setattr(module, "load_fixture", lambda name: fixture)
            for key, value in replaced.items():
                if hasattr(module, key):
                    patch.setattr(module, key, value)
            try:
                test(*arguments)
            except Stop:
                return
            raise AssertionError("the test did not load weights")

    run(dict(original), load_state=stop_at_load)
    shapes = {key: tensor.shape for key, tensor in seen["model"].state_dict().items()}

    kwargs = {**original["kwargs"], **sizes}
    made = graphs(original, kwargs)
    rows = sum(graph["num_nodes"] for graph in made) if "n_classes" in kwargs or name == "cluster_egt" else len(made)
    given = ("n_classes", "num_tasks", "target_dim", "output_dim", "num_class")
    outputs = next((kwargs[key] for key in given if key in kwargs), original["output"].shape[1])
    fixture = {**original, "kwargs": kwargs, "graphs": made, "output": torch.zeros(rows, outputs).double()}
    fixture["state"] = _with_tables(original["state"], tables)
    run(dict(fixture), load_state=stop_at_load)
    model, names = randomise(seen["model"].double()).eval(), seen["names"]
    state = model.state_dict()
    theirs = _shapes(state, shapes, names, original["state"], fixture["state"], kwargs.get("phm_dim", 1))
    fixture["state"] = adjoint(names, state, theirs)
    fixture["num_parameters"] = sum(parameter.numel() for parameter in model.parameters())
    fixture.pop("no_grad", None)
    _add_results(fixture, run, names, theirs, name)
    folder.mkdir(exist_ok=True)
    torch.save(fixture, folder / f"{name}.pt")


def adjoint(names, ours, shapes):
    """Return the tensors of the original of which `names` makes ours."""
    theirs = {key: torch.zeros(shape, dtype=torch.float64, requires_grad=True) for key, shape in shapes.items()}
    total = 0
    for key, make in names.items():
        if key in ours:
            made = make(theirs)
            assert made.shape == ours[key].shape, (key, made.shape, ours[key].shape)
            total = total + (made * ours[key]).sum()
    found = torch.autograd.grad(total, list(theirs.values()), allow_unused=True)
    return {key: torch.zeros(shapes[key]).double() if x is None else x for key, x in zip(theirs, found, strict=True)}


def _add_results(fixture, run, names, shapes, name):
    """Fill in outputs, hidden states and gradients."""
    kwargs, graphs = fixture["kwargs"], fixture["graphs"]
    keys = ("L", "GT_layers", "model_height", "num_layers", "num_layer", "layers", "n_layers")
    depth = next((kwargs[key] for key in keys if key in kwargs), len(kwargs.get("mp_layers", ())))
    depth -= name == "molhiv_gcn_graphnorm"
    sizes = torch.tensor([graph["num_nodes"] for graph in graphs]) + kwargs.get("num_virtual_nodes", 0)
    sizes += name == "zinc_graphormer"
    padded = name.endswith(("egt", "graphormer"))
    most = int(sizes.max())
    width = kwargs.get("model_width", kwargs.get("node_width", kwargs.get("hidden_dim", 1)))
    fixture["hidden"] = [torch.zeros(len(graphs), most, width).double() for _ in range(depth)]
    if "hidden_edge" in fixture:
        edge = kwargs.get("edge_width", 1)
        count = depth - 1 if name == "mol_egt" else min(depth, len(fixture["hidden_edge"]) + depth)
        fixture["hidden_edge"] = [torch.zeros(len(graphs), most, most, edge).double() for _ in range(count)]
    edges, real = [], torch.arange(most) < sizes[:, None]

    def record_edge(ours, theirs):
        edges.append(ours.detach())
        return 0.0

    def finish(model, _, names, output, hidden=()):
        hidden = [ours.detach() for ours, _ in hidden]
        output.sum().backward()
        fixture["output"] = output.detach()
        gradients = {key: p.grad for key, p in model.named_parameters() if p.grad is not None}
        fixture["grad"] = adjoint(names, gradients, shapes)
        if name == "zinc_graphormer":
            for number, part in enumerate(hidden):
                layer, graph = divmod(number, len(graphs))
                fixture["hidden"][layer][graph, : len(part)] = part
        elif padded:
            for layer in range(depth):
                fixture["hidden"][layer][real] = hidden[layer]
            for at, part in enumerate(hidden[depth:]):
                fixture["hidden_edge"][at][real.unsqueeze(1) & real.unsqueeze(2)] = part
        else:
            fixture["hidden"] = hidden[:depth]
            if "hidden_edge" in fixture:
                fixture["hidden_edge"] = edges or hidden[depth:]
        raise Stop

    run(dict(fixture), compare=finish, difference=record_edge)


def _with_tables(state, tables):
    """Return the state with other tables: the tests read the numbers of their rows."""
    state = dict(state)
    for prefix, rows in tables.items():
        if isinstance(rows, int):
            state[prefix] = torch.zeros(rows, state[prefix].shape[1])
            continue
        for key in [key for key in state if re.fullmatch(prefix + r"\.\d+\.weight", key)]:
            del state[key]
        for key in _prefixes(prefix, state):
            for column, count in enumerate(rows):
                state[f"{key}.{column}.weight"] = torch.zeros(count, 1)
    return state


def _prefixes(prefix, state):
    """Return a pattern's prefixes for layers and components 0 to 9."""
    texts = [prefix]
    while any(r"\d+" in text for text in texts):
        texts = [text.replace(r"\d+", str(number), 1) for text in texts for number in range(10)]
    return [text.replace("\\.", ".") for text in texts]


def _shapes(state, old_shapes, names, old_state, given, components):
    """Return the shape of every tensor of the original that the map of the new sizes reads."""
    found = {}
    for key, make in names.items():
        reads = Recorder(old_state)
        with contextlib.suppress(IndexError, RuntimeError):  # the tensors have the old sizes
            make(reads)
        like = _nearest(key, old_shapes)
        new, old = tuple(state[key].shape), tuple(old_shapes[like])
        for theirs in reads.names:
            template = tuple(old_state[_nearest(theirs, old_state)].shape)
            is_table = "embed" in theirs and theirs in given and given[theirs].dim() == 2
            rows = len(given[theirs]) if is_table else None
            found[theirs] = _shape(template, old, new, len(reads.names), rows, components)
            if theirs.endswith("kernel:0"):  # of Keras, (in, out)
                found[theirs] = new[::-1]
    return found


def _shape(template, old, new, count, rows, components):
    if template == old:
        return new
    if template == old[::-1]:
        return new[::-1]
    if math.prod(template) == math.prod(old):
        return tuple(1 if size == 1 else math.prod(new) for size in template)
    if len(template) == len(old) - 1:  # one of several that are stacked
        return new[1:] if template == old[1:] else new[1:][::-1]
    if rows is not None and len(template) == len(old) == 2:  # the table of a column, perhaps of one component
        return (rows, new[1] if template[1] == old[1] else new[1] // components)
    if len(template) == len(old) and template[1:] == old[1:]:  # joined
        return (new[0] // count, *new[1:])
    if len(template) == len(old) + 1 and template[1:] == old:  # a row of a table
        return (template[0] if rows is None else rows, *new)
    if template[0] == old[0] + 1:  # all rows but the first
        return (new[0] + 1, *new[1:])
    raise AssertionError(f"{template} makes {old}: how {new} is made is not known")


def _nearest(key, known):
    """Return the name in `known` that differs from `key` in the fewest numbers, the first ones: those of layers."""
    if key in known:
        return key
    pattern = re.compile(re.sub(r"\d+", r"\\d+", re.escape(key)))
    fitting = [name for name in known if pattern.fullmatch(name)]
    assert fitting, f"nothing like {key}"
    numbers = re.findall(r"\d+", key)

    def differs(name):
        places = [at for at, number in enumerate(re.findall(r"\d+", name)) if number != numbers[at]]
        return len(places), places

    return min(fitting, key=differs)


class Recorder(Used):
    """A state that has tensors of the old sizes for every layer, and records in order which are read."""

    def __init__(self, old):
        super().__init__(old)
        self.names = []

    def __getitem__(self, key):
        self.names.append(key)
        return dict.__getitem__(self, _nearest(key, self))
