"""The picture of a search: what mattered, how it went, and the values of the keys that mattered most."""

import math
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from grpe_dgl.io.atomic_file import atomic_file
from grpe_dgl.objectives import Metric

COLOUR, BEST_COLOUR = "#1f5fa8", "#b3541e"
SHOWN = 3
FEW = 10
"""Trials below which all are in view; of more, the worst tenth is not."""
MOST_TICKS = 4
"""Of a logarithmic axis."""
FEWEST = 4
"""Complete trials below which nothing can be said of what mattered."""


def importances(study: Any) -> dict[str, float]:
    """Return the share of the metric's variance that each key explains (fANOVA), the largest first; empty for few."""
    import optuna

    complete = study.get_trials(deepcopy=False, states=(optuna.trial.TrialState.COMPLETE,))
    varied = {key for trial in complete for key in trial.params}
    varied = {key for key in varied if len({repr(trial.params.get(key)) for trial in complete}) > 1}
    if len(complete) < FEWEST or not varied or len({trial.value for trial in complete}) < 2:
        return {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        evaluator = optuna.importance.FanovaImportanceEvaluator(seed=0)
        try:
            found = optuna.importance.get_param_importances(study, evaluator=evaluator, params=sorted(varied))
        except (ValueError, RuntimeError):  # no variance that a tree could explain
            return {}
    return {key: float(share) for key, share in sorted(found.items(), key=lambda pair: -pair[1])}


def draw_search(complete: Sequence[Any], shares: dict[str, float], metric: Metric, path: Path) -> None:
    """Draw importances and the history of a search above, and the metric by the most important keys below."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
    from matplotlib.ticker import MaxNLocator

    keys = list(shares)[:SHOWN]
    figure = Figure(figsize=(10, 7 if keys else 3.8), layout="constrained")
    FigureCanvasAgg(figure)
    hidden = "; the worst tenth is out of view" if len(complete) >= FEW else ""
    figure.suptitle(f"search of {len(complete)} complete trials, validation {metric.name}{hidden}")
    parts: Any = figure.subfigures(2, 1) if keys else [figure]
    left, right = parts[0].subplots(1, 2)
    scale = 100 if metric.percent else 1
    values = [scale * trial.value for trial in complete]
    best = max(values) if metric.higher_is_better else min(values)
    label = f"validation {metric.name}{' (%)' if metric.percent else ''}"

    names = list(shares)[::-1]
    left.barh(range(len(names)), [shares[name] for name in names], color=COLOUR)
    left.set_yticks(range(len(names)), names)
    left.set_xlabel("share of the variance explained")
    left.set_title("what mattered", loc="left")
    if not names:
        left.text(0.5, 0.5, "too few trials", ha="center", va="center", color="0.5", transform=left.transAxes)

    pick = max if metric.higher_is_better else min
    so_far = [pick(values[: place + 1]) for place in range(len(values))]
    numbers = [trial.number for trial in complete]
    right.plot(numbers, values, ".", color=COLOUR, label="trial")
    right.step(numbers, so_far, where="post", color=BEST_COLOUR, label=f"best so far: {best:.4g}")
    right.set_xlabel("trial")
    right.xaxis.set_major_locator(MaxNLocator(integer=True))
    right.set_title(label, loc="left")
    right.legend(frameon=False)
    _limit(right, values, metric)

    if keys:
        for axes, key in zip(parts[1].subplots(1, len(keys), squeeze=False)[0], keys, strict=True):
            own = [trial.params.get(key) for trial in complete]
            if all(isinstance(value, int | float) and not isinstance(value, bool) for value in own):
                axes.plot(own, values, ".", color=COLOUR)
                axes.plot(own[values.index(best)], best, "o", color=BEST_COLOUR, fillstyle="none", markersize=9)
                if all(isinstance(value, int) for value in own):
                    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
                elif min(own) > 0 and max(own) / min(own) > 5:
                    axes.set_xscale("log")
                    ticks = log_ticks(min(own), max(own))
                    axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
                    axes.set_xticks([], minor=True)
            else:
                found = sorted({str(value) for value in own})
                axes.plot([found.index(str(value)) for value in own], values, ".", color=COLOUR)
                axes.set_xticks(range(len(found)), found)
            axes.set_xlabel(key)
            _limit(axes, values, metric)
        parts[1].supylabel(label, fontsize="medium")
    with atomic_file(path) as temporary:
        figure.savefig(temporary, format="png", dpi=120)


def log_ticks(low: float, high: float) -> list[float]:
    """Return ticks of a logarithmic axis, few enough to have room: 1, 2 and 5 times powers of ten, or of more powers.

    >>> log_ticks(0.00024, 0.002), log_ticks(1e-6, 0.02)
    ([0.0005, 0.001, 0.002], [1e-06, 0.0001, 0.01])
    """
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    inside: list[float] = []
    for step, parts in ((1, (1, 2, 5)), (1, (1,)), (2, (1,)), (4, (1,))):
        ticks = [float(f"{part}e{power}") for power in range(first, last + 1, step) for part in parts]
        inside = [tick for tick in ticks if low * 0.999 <= tick <= high * 1.001]
        if len(inside) <= MOST_TICKS:
            break
    return inside


def _limit(axes: Any, values: Sequence[float], metric: Metric) -> None:
    """Cut off the worst tenth, which would press all others to one edge."""
    axes.grid(alpha=0.3)
    if len(values) < FEW:
        return
    ordered = sorted(values, reverse=metric.higher_is_better)
    worst, best = ordered[(9 * (len(ordered) - 1)) // 10], ordered[0]
    margin = 0.08 * abs(worst - best)
    if margin:
        low, high = sorted((worst, best))
        axes.set_ylim(low - margin, high + margin)
