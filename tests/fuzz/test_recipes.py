"""Hostile recipes: every one is an InputError that names a line or a key, in less than a second."""

import collections
import random
import time

import pytest

from grpe_dgl.errors import InputError
from grpe_dgl.recipe import load_recipe, recipe_text, shipped_recipes
from tests.fuzz.effort import SEED, effort, report

GOOD = "dataset: zinc\nmodel: {preset: tiny}\ntraining: {batch_size: 4, epochs: 3}\n"
DOUBLINGS = range(1, 40)


def model(text):
    return GOOD.replace("preset: tiny", f"preset: tiny, {text}")


def training(text):
    return GOOD.replace("epochs: 3", f"epochs: 3, {text}")


HOSTILE = {
    "nested merges": (
        "a0: &a0 {x: 1}\n"
        + "".join(f"a{i}: &a{i} {{<<: [*a{i - 1}, *a{i - 1}], y{i}: 1}}\n" for i in DOUBLINGS)
        + GOOD,
        "with its aliases written out it has more than 10,000 values",
    ),
    "nested aliases": (
        "a0: &a0 [x]\n" + "".join(f"a{i}: &a{i} [*a{i - 1}, *a{i - 1}]\n" for i in DOUBLINGS) + GOOD,
        "with its aliases written out it has more than 10,000 values",
    ),
    "a long chain of aliases": (
        "a0: &a0 [x]\n" + "".join(f"a{i}: &a{i} [*a{i - 1}]\n" for i in range(1, 900)) + GOOD,
        "it is nested more than 40 levels deep",
    ),
    "an alias inside itself": ("a: &a [*a]\n" + GOOD, "line 1: an alias stands for what it is part of"),
    "a merge of itself": ("a: &a {<<: *a}\n" + GOOD, "line 1: an alias stands for what it is part of"),
    "a NUL byte": (GOOD + "\0", "not YAML: special characters are not allowed"),
    "an escaped NUL": (GOOD + 'description: "\\0"\n', "description is '\\x00', with a character that is not text"),
    "a surrogate": (GOOD + 'description: "\\ud800"\n', "description is '\\ud800', with a character that is not text"),
    "a NUL in a path": ('extends: "\\0"\n' + GOOD, "extends is '\\x00' (a text)"),
    "an impossible date": (GOOD + "description: 2024-02-30\n", "line 4: description is '2024-02-30', which cannot be"),
    "6,000 digits": (GOOD.replace("4,", f"{'9' * 6000},"), "line 3: batch_size is '999"),
    "60,000 hexadecimal digits": (GOOD.replace("4,", f"0x{'f' * 60000},"), "training.batch_size is a whole number of"),
    "a float of 400 digits": (training(f"learning_rate: {'9' * 400}"), "training.learning_rate is a whole number of"),
    "a deep list": (GOOD + "description: " + "[" * 50000, "line 4: it is nested more than 40 levels deep"),
    "a deep mapping": (GOOD + "description: " + "{a: " * 5000, "line 4: it is nested more than 40 levels deep"),
    "a deep list of lines": (GOOD + "description:\n" + "- " * 5000, "line 5: it is nested more than 40 levels deep"),
    "a seed of 1e23": (training("seed: 1" + "0" * 23), "training.seed is 100000000000000000000000; accepted: up to"),
    "a wide model": (model("hidden_size: 1048576"), "model.hidden_size is 1048576; accepted: up to 65,536"),
    "a deep model": (model("layers: 100000"), "model.layers is 100000; accepted: up to 1,000"),
    "a wide variant": (GOOD + "variants: {a: {model: {layers: 100000}}}\n", "variants.a: model.layers is 100000"),
    "many runs": (training("runs: 1000000000"), "training.runs is 1000000000; accepted: up to 1,000"),
    "runs as a float": (training("runs: 1.0e+9"), "training.runs is 1000000000.0 (a number); accepted: a whole number"),
    "a long head": (model(f"head_sizes: [{'8,' * 5000}]"), "model.head_sizes has 5,000 items; accepted: up to 64"),
    "a wide head": (model("head_sizes: [100000000]"), "model.head_sizes is 100000000; accepted: up to 65,536"),
    "a preset of digits": (GOOD.replace("tiny", "0x" + "f" * 9000), "model.preset is a whole number of about 10,800"),
    "a family of digits": (model(f"name: 0x{'f' * 9000}"), "model.name is a whole number of about 10,800 digits"),
    "two megabytes": ("#" + "x" * 2_000_000, "it has 2,000,001 characters; accepted: up to 1,000,000"),
    "a constructor": (
        GOOD + "description: !!python/object/apply:os.system [ls]\n",
        "could not determine a constructor",
    ),
    "nothing": ("", "the file contains null"),
}


def outcome(path, overrides=()):
    """Return the message and the seconds of CPU; other processes on the machine do not count."""
    begin = time.process_time()
    try:
        load_recipe(path, overrides)
        message = "loaded"
    except InputError as error:
        message = str(error)
    return message, time.process_time() - begin


@pytest.mark.parametrize("case", HOSTILE)
def test_hostile_recipes(tmp_path, case):
    text, expected = HOSTILE[case]
    (tmp_path / "r.yaml").write_text(text)
    message, seconds = outcome(tmp_path / "r.yaml")
    assert expected in message
    assert seconds < 1 and len(message) < 1000


@pytest.mark.parametrize(
    "override",
    [
        "model.layers=" + "[" * 100000,
        "model.layers=" + "{a: " * 1000,
        "model.layers=2024-02-30",
        "model.layers=0x" + "f" * 9000,
        "model.layers=*a",
        "training.seed=1" + "0" * 23,
        "training.runs=1000000000",
        ".".join("a" * 5000) + "=1",
    ],
)
def test_hostile_overrides(tmp_path, override):
    (tmp_path / "r.yaml").write_text(GOOD)
    message, seconds = outcome(tmp_path / "r.yaml", [override])
    assert override[:12] in message
    assert seconds < 1


def test_damaged_recipes(tmp_path):
    rng = random.Random(SEED)
    texts = [recipe_text(name) for name in shipped_recipes()]
    pieces = [
        "[",
        "{",
        "<<: ",
        "&a ",
        "*a",
        "\0",
        "9" * 50,
        "- ",
        ": ",
        "\n",
        "!!",
        "'",
        '"',
        "\t",
        "\x1b",
        "~",
        "1e99",
        "é",
    ]
    gave = collections.Counter()
    for number in range(effort(150, 2000)):
        text = rng.choice(texts)
        for _ in range(rng.randint(1, 3)):
            at = rng.randrange(len(text))
            text = text[:at] + rng.choice(pieces) + text[at + rng.randint(0, 3) :]
        (tmp_path / "r.yaml").write_text(text)
        message, seconds = outcome(tmp_path / "r.yaml")
        assert seconds < 1, (number, text)
        gave["loaded" if message == "loaded" else "InputError"] += 1
    report("recipes, random", gave)
