"""Damaged checkpoints: refused with an InputError, or the predictions are what they were."""

import collections
import copy
import io

import numpy as np
import pytest
import torch

import grpe_dgl.data
from grpe_dgl.checkpoint.file import load_checkpoint
from grpe_dgl.errors import InputError
from grpe_dgl.training.run import run
from tests.fuzz.effort import SEED, effort, report
from tests.training.tiny import recipe, write_dataset

VALUES = (None, True, -1, 10**30, 1e300, float("nan"), "x", "\x1b[2J", [], [[]], {}, {"a": 1}, torch.zeros(2), (1,) * 9)


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """The bytes of a checkpoint that can be resumed, a batch of graphs and the model's outputs for it."""
    folder = tmp_path_factory.mktemp("run")
    data = grpe_dgl.data.load(write_dataset(folder / "data", "regression"))
    run(recipe(training__epochs=1, training__warmup_epochs=0), data, folder / "run")
    graph = data.batch(np.arange(8)).graph
    content = (folder / "run" / "last.ckpt").read_bytes()
    return content, graph, outputs(folder / "run" / "last.ckpt", graph)


@torch.no_grad()
def outputs(path, graph):
    checkpoint = load_checkpoint(path)
    repr(checkpoint.recipe), checkpoint.schema.to_dict()
    return checkpoint.model()(graph)


def use(path, graph, expected):
    """Return what a checkpoint gave, with anything but an InputError or the same outputs named."""
    try:
        found = outputs(path, graph)
    except InputError:
        return "InputError"
    except Exception as error:
        return f"traceback {type(error).__name__}: {error}"
    return "same predictions" if torch.equal(found, expected) else "changed predictions"


def check(gave, title):
    report(title, collections.Counter(what.split(":")[0] for what in gave.values()))
    assert {k: v for k, v in gave.items() if v not in ("InputError", "same predictions")} == {}


def test_random_damage(trained, tmp_path):
    content, graph, expected = trained
    rng = np.random.default_rng(SEED)
    gave = {}
    for number in range(effort(60, 500)):
        changed, at = bytearray(content), int(rng.integers(len(content)))
        if number % 10 == 9:
            what, changed = f"cut at {at}", changed[:at]
        elif number % 10 == 8:
            what = f"8 random bytes at {at}"
            changed[at : at + 8] = rng.bytes(len(changed[at : at + 8]))
        else:
            what = f"bit of byte {at}"
            changed[at] ^= 1 << int(rng.integers(8))
        (tmp_path / "x.ckpt").write_bytes(changed)
        gave[f"{number}: {what}"] = use(tmp_path / "x.ckpt", graph, expected)
    check(gave, "checkpoints, random")


def test_every_field_with_other_values(trained, tmp_path):
    """Whole archives with right checksums, as an editor would write them."""
    content, graph, expected = trained
    plain = torch.load(io.BytesIO(content), weights_only=True)
    rng = np.random.default_rng(SEED)
    mutations = [(path, value) for path in paths(plain) for value in VALUES]
    gave = {}
    for place in rng.choice(len(mutations), effort(120, 800), replace=False):
        path, value = mutations[place]
        torch.save(with_value(plain, path, value), tmp_path / "x.ckpt")
        what = use(tmp_path / "x.ckpt", graph, expected)
        if path[:1] == ["checksum"] and value is None:
            assert what == "same predictions"
        gave[f"{path} = {value!r}"] = what
    check(gave, "checkpoints, fields")


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (["weights", "virtual_node"], torch.zeros(3), r"virtual_node is \(3,\) torch.float32, expected \(16,\)"),
        (["weights", "virtual_node"], torch.zeros(16, dtype=torch.float64), "virtual_node is .*float64, expected"),
        (["weights", "virtual_node"], torch.zeros(1).expand(10**12), "virtual_node is"),
        (["weights", "virtual_node"], torch.ones(16), "its checksum is not that of its recipe, schema and weights"),
        (["schema", "target_mean"], (0.0,), "its checksum is not that of its recipe, schema and weights"),
        (["recipe", "model", "key_term"], "self", "its checksum is not that of its recipe, schema and weights"),
        (["recipe", "model", "hidden_size"], 1 << 20, "model.hidden_size is 1048576; accepted: up to 65,536"),
        (["recipe", "model", "layers"], 10**6, "model.layers is 1000000; accepted: up to 1,000"),
        (["schema", "node_vocabulary"], [1 << 24] * 30, "makes a model of 8,053,.* parameters"),
        (["training", "optimizer", "state", 0, "exp_avg"], torch.zeros(5), "exp_avg .* for parameter 0, expected"),
        (["training", "optimizer", "param_groups", 0, "betas"], ("x", 2), "optimizer has 'betas'"),
        (["training", "random"], [torch.zeros(3, dtype=torch.uint8)], "random generator has 3 bytes, too few"),
        (["training", "history"], [{"epoch": 1}], "history has an epoch with"),
    ],
)
def test_what_is_wrong_is_named(trained, tmp_path, path, value, message):
    plain = torch.load(io.BytesIO(trained[0]), weights_only=True)
    torch.save(with_value(plain, path, value), tmp_path / "x.ckpt")
    with pytest.raises(InputError, match=message):
        load_checkpoint(tmp_path / "x.ckpt")


def paths(value, path=()):
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inside in items:
        yield [*path, key]
        yield from paths(inside, (*path, key))


def with_value(content, path, value):
    content = copy.deepcopy(content)
    inside = content
    for key in path[:-1]:
        inside = inside[key]
    inside[path[-1]] = value
    return content
