"""The losses and metrics that a recipe can name, with the kinds of task each one fits.

This is the only list of them. It imports neither torch nor numpy, so that recipes are checked without loading either;
the functions of the same names are in `grpe_dgl.training.losses` and `grpe_dgl.training.metrics`.
"""

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

from grpe_dgl.messages import significant

KINDS = ("regression", "binary", "multiclass")
"""The kinds of task: numbers; one or many yes/no targets; one target of many classes."""

ANY_LABEL = "labels"
BOTH_CLASSES = "labels of both classes"
DIFFERENT_LABELS = "two labels that differ"


@dataclass(frozen=True)
class Loss:
    """The properties of a loss; its function is in `grpe_dgl.training.losses`."""

    kinds: tuple[str, ...]
    """The kinds of task it fits."""


@dataclass(frozen=True, kw_only=True)
class Metric:
    """The properties of a metric; its function is in `grpe_dgl.training.metrics`."""

    name: str
    kinds: tuple[str, ...]
    """The kinds of task it fits."""
    higher_is_better: bool
    percent: bool = False
    """Whether it is shown in percent; the function returns a fraction all the same."""
    requires: str = ANY_LABEL
    """What a target's labels must contain for the metric to be defined."""
    uses_threshold: bool = False
    """Whether it compares yes/no predictions at a threshold; see `grpe_dgl.training.thresholds`."""
    per_batch: bool = False
    """Whether it is a mean over batches of ``training.batch_size`` graphs, in the order in which a split is stored."""

    def better(self, a: float, b: float) -> bool:
        """Whether a is strictly better than b; any number is better than NaN."""
        if math.isnan(b):
            return not math.isnan(a)
        return a > b if self.higher_is_better else a < b

    def text(self, value: float, spread: float | None = None) -> str:
        """Format a value, and its standard deviation over runs, as the paper does: ``81.586 ± 0.190 %``.

        A value too small for four decimals is written with four digits: ``1.234e-06``.
        """
        if self.percent:
            written = f"{100 * value:.3f}"
            return f"{written} %" if spread is None else f"{written} ± {100 * spread:.3f} %"
        if spread is None:
            return significant(value)
        # The spread has as many decimals as the value, unless that would make it look like zero.
        decimals = f"{spread:.4f}" if 0.01 <= abs(value) and (spread == 0 or spread >= 5e-5) else f"{spread:.2g}"
        return f"{significant(value)} ± {decimals}"


LOSSES: dict[str, Loss] = {
    "l1": Loss(("regression",)),
    "mse": Loss(("regression",)),
    "huber": Loss(("regression",)),
    "bce": Loss(("binary",)),
    "cross_entropy": Loss(("multiclass",)),
    "weighted_cross_entropy": Loss(("multiclass",)),
}
METRICS: dict[str, Metric] = {
    metric.name: metric
    for metric in (
        Metric(name="mae", kinds=("regression",), higher_is_better=False),
        Metric(name="rmse", kinds=("regression",), higher_is_better=False),
        Metric(name="r2", kinds=("regression",), higher_is_better=True, requires=DIFFERENT_LABELS),
        Metric(name="rocauc", kinds=("binary",), higher_is_better=True, percent=True, requires=BOTH_CLASSES),
        Metric(name="ap", kinds=("binary",), higher_is_better=True, percent=True, requires=BOTH_CLASSES),
        Metric(name="accuracy", kinds=("binary", "multiclass"), higher_is_better=True, percent=True),
        Metric(
            name="balanced_accuracy",
            kinds=("binary", "multiclass"),
            higher_is_better=True,
            percent=True,
            requires=BOTH_CLASSES,
            uses_threshold=True,
        ),
        Metric(
            name="f1", kinds=("binary", "multiclass"), higher_is_better=True, requires=BOTH_CLASSES, uses_threshold=True
        ),
        Metric(
            name="mcc",
            kinds=("binary", "multiclass"),
            higher_is_better=True,
            requires=BOTH_CLASSES,
            uses_threshold=True,
        ),
        Metric(name="weighted_accuracy", kinds=("multiclass",), higher_is_better=True, percent=True),
        Metric(name="sbm_accuracy", kinds=("multiclass",), higher_is_better=True, percent=True, per_batch=True),
    )
}

LOSSES_OF_KIND = {kind: tuple(name for name, loss in LOSSES.items() if kind in loss.kinds) for kind in KINDS}
"""The losses that fit each kind of task; the first is the default."""
METRICS_OF_KIND = {kind: tuple(name for name, metric in METRICS.items() if kind in metric.kinds) for kind in KINDS}
"""The metrics that fit each kind of task; the first is the default of a dataset that names none."""

if TYPE_CHECKING:  # a type checker cannot evaluate the tables
    LossName: TypeAlias = str
    MetricName: TypeAlias = str
else:
    LossName = Literal[tuple(LOSSES)]
    MetricName = Literal[tuple(METRICS)]
