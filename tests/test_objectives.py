import inspect
import subprocess
import sys
from typing import get_args

import pytest

from grpe_dgl import objectives
from grpe_dgl.objectives import KINDS, LOSSES, LOSSES_OF_KIND, METRICS, METRICS_OF_KIND
from grpe_dgl.training import losses, metrics
from grpe_dgl.training.losses import LOSS_FUNCTIONS
from grpe_dgl.training.metrics import METRIC_FUNCTIONS

NAN = float("nan")

NOT_OBJECTIVES = ("is_defined", "label_counts")


def test_defaults_of_each_kind():
    assert [LOSSES_OF_KIND[kind][0] for kind in KINDS] == ["l1", "bce", "cross_entropy"]
    assert [METRICS_OF_KIND[kind][0] for kind in KINDS] == ["mae", "rocauc", "accuracy"]
    assert METRICS_OF_KIND["binary"] == ("rocauc", "ap", "accuracy", "balanced_accuracy", "f1", "mcc")
    assert LOSSES_OF_KIND["multiclass"] == ("cross_entropy", "weighted_cross_entropy")


def test_names_of_a_recipe():
    assert get_args(objectives.LossName) == tuple(LOSSES)
    assert get_args(objectives.MetricName) == tuple(METRICS)
    assert all(metric.name == name for name, metric in METRICS.items())


@pytest.mark.parametrize(("module", "functions"), [(losses, LOSS_FUNCTIONS), (metrics, METRIC_FUNCTIONS)])
def test_every_name_is_a_function_and_every_function_has_a_name(module, functions):
    public = {
        name: function
        for name, function in inspect.getmembers(module, inspect.isfunction)
        if function.__module__ == module.__name__ and not name.startswith("_") and name not in NOT_OBJECTIVES
    }
    assert functions == public


def test_better():
    assert METRICS["mae"].better(0.1, 0.2) and not METRICS["mae"].better(0.2, 0.1)
    assert METRICS["ap"].better(0.2, 0.1) and not METRICS["ap"].better(0.1, 0.1)
    assert METRICS["ap"].better(0.1, NAN) and not METRICS["ap"].better(NAN, 0.1) and not METRICS["mae"].better(NAN, NAN)


def test_text():
    assert METRICS["mae"].text(0.0941, 0.0023) == "0.0941 ± 0.0023"
    assert METRICS["weighted_accuracy"].text(0.81586) == "81.586 %"
    assert METRICS["rocauc"].text(0.8139, 0.0049) == "81.390 ± 0.490 %"


def test_neither_torch_nor_numpy_is_loaded():
    code = "import sys, grpe_dgl.objectives; print(sorted({'torch', 'numpy', 'dgl'} & set(sys.modules)))"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"


@pytest.mark.parametrize(
    ("value", "spread", "text"),
    [
        (0.33125, None, "0.3312"),
        (12.5, None, "12.5000"),
        (1.23456e-6, None, "1.235e-06"),
        (0.0012345, None, "0.001234"),
        (0.0, None, "0.0000"),
        (-2.5e-7, None, "-2.5e-07"),
        (0.094, 0.002, "0.0940 ± 0.0020"),
        (1.2e-6, 3.4e-8, "1.2e-06 ± 3.4e-08"),
        (0.5, 1e-7, "0.5000 ± 1e-07"),
        (0.5, 0.0, "0.5000 ± 0.0000"),
    ],
)
def test_small_numbers_keep_their_digits(value, spread, text):
    assert METRICS["rmse"].text(value, spread) == text
