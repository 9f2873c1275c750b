import dataclasses
import inspect
import math
from typing import get_args, get_type_hints

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from grpe_dgl.errors import InputError
from grpe_dgl.models.grpe.settings import PRESETS, GRPESettings
from grpe_dgl.nn import GRPE
from grpe_dgl.ops.relative_attention import KEY_TERMS
from grpe_dgl.recipe import Recipe
from grpe_dgl.relations import MAX_DISTANCE_LIMIT
from grpe_dgl.schema import Task

SMALLEST = {"model": {"preset": "tiny"}, "training": {"batch_size": 8, "epochs": 4}}
REGRESSION = Task(level="graph", kind="regression", targets=("gap",), metric="mae")


def _with(**sections) -> dict:
    """Return the smallest recipe, with the keys of some sections added."""
    merged = {**SMALLEST, **{key: value for key, value in sections.items() if not isinstance(value, dict)}}
    for key, value in sections.items():
        if isinstance(value, dict):
            merged[key] = {**SMALLEST.get(key, {}), **value}
    return merged


def test_defaults_and_preset():
    recipe = Recipe.from_dict(SMALLEST)
    assert dataclasses.asdict(recipe.model) == {
        "layers": 4,
        "hidden_size": 64,
        "ffn_size": 64,
        "num_heads": 8,
        "max_distance": 5,
        "dropout": 0.1,
        "attention_dropout": 0.1,
        "input_noise": 0.0,
        "topology_attention": True,
        "edge_attention": True,
        "graph_value": True,
        "share_encodings": True,
        "key_term": "neighbour",
        "head_sizes": (),
        "descriptors": None,
        "descriptor_dropout": 0.0,
    }
    assert (recipe.training.learning_rate, recipe.training.final_learning_rate) == (2e-4, 1e-9)
    assert recipe.dataset is None and recipe.start_from is None and recipe.variants == {}


def test_explicit_sizes_override_the_preset():
    model = Recipe.from_dict(_with(model={"layers": 7})).model
    assert (model.layers, model.hidden_size) == (7, 64)


def test_the_words_are_those_of_the_model():
    arguments = set(inspect.signature(GRPE).parameters)
    assert {field.name for field in dataclasses.fields(GRPESettings)} < arguments
    assert get_args(get_type_hints(GRPESettings)["key_term"]) == KEY_TERMS
    assert Recipe.from_dict(_with(model={"max_distance": MAX_DISTANCE_LIMIT})).model.max_distance == 252


def test_a_float_may_be_written_as_yaml_reads_2e_4():
    assert yaml.safe_load("2e-4") == "2e-4"
    assert Recipe.from_dict(_with(training={"learning_rate": "2e-4"})).training.learning_rate == 2e-4
    assert isinstance(Recipe.from_dict(_with(model={"dropout": 0})).model.dropout, float)


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        (
            _with(modle={}),
            "x.yaml: modle is not a key of a recipe (did you mean model?); accepted at the top: extends",
        ),
        (
            _with(model={"layrs": 3}),
            "model.layrs is not a key of a recipe (did you mean model.layers?); accepted in model",
        ),
        (_with(training={"zzz": 3}), "training.zzz is not a key of a recipe; accepted in training: batch_size, epochs"),
        (
            _with(model={"preset": "tinny"}),
            "model.preset is 'tinny' (a text) (did you mean tiny?); accepted: tiny, small",
        ),
        ({"model": {"preset": "tiny"}}, "training is missing; accepted: a mapping"),
        (
            {"model": {"layers": 1}, "training": {}},
            "model.hidden_size is missing; accepted: a whole number, or model.preset",
        ),
        ({**SMALLEST, "training": {"epochs": 1}}, "training.batch_size is missing; accepted: a whole number"),
        (_with(model="tiny"), "model is 'tiny' (a text); accepted: a mapping of keys to values"),
        ([1], "the recipe is the list [1]; accepted: a mapping"),
        (_with(model={"layers": 4.0}), "model.layers is 4.0 (a number); accepted: a whole number"),
        (_with(model={"layers": True}), "model.layers is True (true or false); accepted: a whole number"),
        (_with(model={"layers": "4"}), "model.layers is '4' (a text); accepted: a whole number"),
        (_with(model={"layers": None}), "model.layers is null; accepted: a whole number"),
        (_with(model={"dropout": "low"}), "model.dropout is 'low' (a text); accepted: a number"),
        (_with(model={"dropout": True}), "model.dropout is True (true or false); accepted: a number"),
        (_with(training={"learning_rate": math.inf}), "training.learning_rate is inf (a number); accepted: a number"),
        (_with(training={"clip": "nan"}), "training.clip is 'nan' (a text); accepted: a number or null"),
        (_with(model={"graph_value": 1}), "model.graph_value is 1 (a whole number); accepted: true or false"),
        (_with(model={"key_term": "neighbor"}), "model.key_term is 'neighbor' (a text) (did you mean neighbour?)"),
        (
            _with(model={"head_sizes": 4}),
            "model.head_sizes is 4 (a whole number); accepted: a list, each a whole number",
        ),
        (_with(model={"head_sizes": [4, "a"]}), "model.head_sizes[1] is 'a' (a text); accepted: a whole number"),
        (_with(dataset=5), "dataset is 5 (a whole number); accepted: a text or null; put it in quotes"),
        (
            _with(paper={"table": "a", "metric": "b", "value": 0.1}),
            "paper.value is 0.1 (a number); accepted: a text or",
        ),
        (
            _with(training={"loss": "bec"}),
            "training.loss is 'bec' (a text) (did you mean bce?); accepted: l1, mse, huber, bce",
        ),
        (_with(model={"num_heads": 7}), "model.num_heads is 7; accepted: a divisor of model.hidden_size, which is 64"),
        (_with(model={"layers": 0}), "model.layers is 0; accepted: 1 or more"),
        (_with(model={"max_distance": 253}), "model.max_distance is 253; accepted: 1..252"),
        (_with(model={"dropout": 1}), "model.dropout is 1.0; accepted: 0 to below 1"),
        (_with(model={"input_noise": -1}), "model.input_noise is -1.0; accepted: 0 or more"),
        (_with(model={"head_sizes": [0]}), "model.head_sizes is [0]; accepted: sizes of 1 or more"),
        (_with(training={"updates": 9}), "training.epochs and training.updates: both are given; accepted: exactly one"),
        (_with(training={"epochs": None}), "training.epochs and training.updates: neither is given"),
        (
            _with(training={"warmup_epochs": 4}),
            "training.warmup_epochs is 4; accepted: less than training.epochs, which is 4",
        ),
        (_with(training={"warmup_epochs": 1, "warmup_updates": 1}), "both are given; accepted: one or none"),
        (_with(training={"stop_after_epochs": 5}), "training.stop_after_epochs is 5; accepted: up to training.epochs"),
        (_with(training={"learning_rate": 0}), "training.learning_rate is 0.0; accepted: above 0"),
        (_with(training={"clip": 0}), "training.clip is 0.0; accepted: above 0, or null"),
        (_with(training={"runs": 0}), "training.runs is 0; accepted: 1 or more"),
        (_with(training={"loss": "l1", "metric": "ap"}), "training.metric is 'ap'; accepted: mae, rmse, r2, which fit"),
        (_with(variants={"a b": {"overrides": {}}}), "variants has the name 'a b'"),
        (_with(variants={"a": None}), "variants.a is null; accepted: a mapping"),
        (_with(variants={"a": {"overrides": {"model.layrs": 1}}}), "variants.a: model.layrs is not a key of a recipe"),
        (_with(variants={"a": {"overrides": {"model.layers": 0}}}), "variants.a: model.layers is 0; accepted: 1"),
        (_with(variants={"a": {"model": {"layrs": 1}}}), "variants.a: model.layrs is not a key of a recipe (did you"),
        (_with(variants={"a": {"training": {"loss": "bec"}}}), "variants.a: training.loss is 'bec' (a text) (did you"),
        (_with(variants={"a": {"modle": {}}}), "variants.a.modle is not a key of a recipe (did you mean variants.a.mo"),
        (
            _with(variants={"a": {"model": {"layers": 1}, "overrides": {"model.layers": 2}}}),
            "variants.a: model.layers is given in model and in overrides; accepted: one of them",
        ),
        (_with(variants={1: {"overrides": {}}}), "variants has the key 1 (a whole number); accepted: a text"),
    ],
)
def test_what_does_not_fit_is_refused(raw, message):
    with pytest.raises(InputError) as error:
        Recipe.from_dict(raw, source="x.yaml")
    assert str(error.value).startswith("x.yaml: ")
    assert message in str(error.value)


def test_variant():
    paper = {"table": "t", "metric": "m", "value": "1"}
    recipe = Recipe.from_dict(
        _with(paper=paper, variants={"far": {"overrides": {"model.max_distance": 9}}, "small": {"overrides": {}}})
    )
    far = recipe.variant("far")
    assert far.model == dataclasses.replace(recipe.model, max_distance=9)
    assert far.training == recipe.training and far.paper is None and far.variants == {}
    with pytest.raises(
        InputError, match=r"'fra' is not a variant of the recipe \(did you mean far\?\); accepted: far, small"
    ):
        recipe.variant("fra")
    with pytest.raises(InputError, match="it has no variants"):
        far.variant("far")


def test_a_variant_with_whole_sections():
    variant = {
        "model": {"preset": "small", "dropout": 0.5},
        "training": {"updates": 30, "clip": 2},
        "overrides": {"dataset": "mine"},
    }
    recipe = Recipe.from_dict(_with(model={"layers": 3, "input_noise": 0.2}, variants={"a": variant, "same": {}}))
    chosen = recipe.variant("a")
    assert (chosen.model.layers, chosen.model.hidden_size, chosen.model.dropout) == (12, 80, 0.5)
    assert chosen.model.input_noise == 0.2  # the recipe's, as the variant does not give it
    assert (chosen.training.updates, chosen.training.epochs, chosen.training.batch_size) == (30, None, 8)
    assert (chosen.training.clip, chosen.dataset) == (2.0, "mine")
    assert recipe.variant("same").model == recipe.model
    assert Recipe.from_dict(yaml.safe_load(recipe.to_yaml())) == recipe


def test_a_variant_saved_before_sections_existed():
    """Recipes in checkpoints of version 0.1.0 have only overrides and paper."""
    recipe = Recipe.from_dict(_with(variants={"far": {"overrides": {"model.max_distance": 9}, "paper": None}}))
    assert recipe.variant("far").model.max_distance == 9


def test_fit_to_task_writes_out_loss_and_metric():
    fitted = Recipe.from_dict(SMALLEST).fit_to_task(REGRESSION)
    assert (fitted.training.loss, fitted.training.metric) == ("l1", "mae")
    by_rmse = Recipe.from_dict(_with(training={"metric": "rmse"})).fit_to_task(REGRESSION).training
    assert (by_rmse.loss, by_rmse.metric) == ("mse", "rmse")
    node = Task(level="node", kind="multiclass", targets=("class",), classes=("a", "b"), metric="weighted_accuracy")
    assert Recipe.from_dict(SMALLEST).fit_to_task(node).training.loss == "cross_entropy"


@pytest.mark.parametrize(
    ("training", "message"),
    [
        ({"loss": "bce"}, "training.loss is 'bce', but the dataset's task is regression of gap; accepted there: l1"),
        ({"metric": "ap"}, "training.metric is 'ap', but the dataset's task is regression of gap; accepted there: mae"),
    ],
)
def test_a_task_that_does_not_fit_is_refused(training, message):
    with pytest.raises(InputError, match=message):
        Recipe.from_dict(_with(training=training)).fit_to_task(REGRESSION)


def test_yaml_holds_plain_values_only():
    text = Recipe.from_dict(_with(model={"head_sizes": [3, 5]}, dataset="zinc")).to_yaml()
    assert "!!" not in text
    assert yaml.safe_load(text)["model"]["head_sizes"] == [3, 5]


TEXTS = st.text().map(lambda text: "".join(c for c in text if c >= " " or c in "\n\r\t"))  # no control characters


@settings(max_examples=30, deadline=None)
@given(
    preset=st.sampled_from(list(PRESETS)),
    rate=st.floats(1e-8, 1, exclude_min=True),
    dropout=st.floats(0, 1, exclude_max=True),
    head_sizes=st.lists(st.integers(1, 99), max_size=3),
    dataset=st.none() | TEXTS,
    description=TEXTS,
    distances=st.lists(st.integers(1, 252), max_size=3, unique=True),
)
def test_yaml_round_trip(preset, rate, dropout, head_sizes, dataset, description, distances):
    recipe = Recipe.from_dict(
        {
            "description": description,
            "dataset": dataset,
            "model": {"preset": preset, "dropout": dropout, "head_sizes": head_sizes},
            "training": {"batch_size": 3, "updates": 5, "learning_rate": rate},
            "paper": {"table": "é", "metric": "m", "value": "1 ± 2 %"},
            "variants": {f"L{L}": {"overrides": {"model.max_distance": L}} for L in distances},
        }
    )
    assert Recipe.from_dict(yaml.safe_load(recipe.to_yaml())) == recipe
    assert Recipe.from_dict(recipe.to_dict()) == recipe


def test_a_metric_that_does_not_fit_is_named_before_the_loss_that_follows_from_it():
    with pytest.raises(InputError, match=r"^training.metric is 'rmse', but the dataset's task is binary of y"):
        Recipe.from_dict(_with(training={"metric": "rmse"})).fit_to_task(
            Task(level="graph", kind="binary", targets=("y",), metric="rocauc")
        )
