"""The charts of a run's predictions."""

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from grpe_dgl.messages import significant
from grpe_dgl.workflows.report.evidence import Evidence, probabilities
from grpe_dgl.workflows.report.markup import Markup, card, element
from grpe_dgl.workflows.report.plot import Plot, padded

Array = npt.NDArray[Any]
MOST_TARGETS = 4
MOST_POINTS = 1500
ONE_CARD = 36  # characters of a table's row that fit into a card
MOST_CLASSES = 24
BINS = 10


def prediction_cards(evidence: Evidence) -> list[Markup]:
    """Return the charts that fit the task: of predictions against labels, for the first targets."""
    if evidence.predictions is None or evidence.kind is None:
        return []
    if evidence.kind == "multiclass":
        return _multiclass(evidence)
    cards: list[Markup] = []
    names = evidence.target_names
    for target, name in enumerate(names[:MOST_TARGETS]):
        title = f"{name}: " if len(names) > 1 else ""
        predicted = evidence.predictions.predictions[:, target].astype(np.float64)
        labels = evidence.predictions.labels[:, target].astype(np.float64)
        use = np.isfinite(labels) & np.isfinite(predicted)
        if not use.any():
            continue
        sizes = None if evidence.sizes is None else evidence.sizes[use]
        graphs = evidence.predictions.index[use]
        if evidence.kind == "regression":
            cards += _regression(title, name, predicted[use], labels[use], graphs, sizes)
        else:
            chance = probabilities(predicted[use], "binary")
            cards += _binary(title, chance, labels[use], evidence.class_names(name), evidence.threshold(name))
    return cards


def _sample(count: int) -> Array:
    """Return which rows are drawn: all, or `MOST_POINTS` of them, always the same."""
    if count <= MOST_POINTS:
        return np.arange(count)
    return np.sort(np.random.default_rng(0).choice(count, MOST_POINTS, replace=False))


def _shown(count: int) -> str:
    return f"{MOST_POINTS:,} of {count:,} points, chosen at random" if count > MOST_POINTS else f"{count:,} points"


def _regression(
    title: str, name: str, predicted: Array, labels: Array, graphs: Array, sizes: Array | None
) -> list[Markup]:
    drawn = _sample(len(labels))
    span = padded([*labels[drawn], *predicted[drawn]])
    plot = Plot(
        f"{title}predicted against true", span, span, x_label=f"true {name}", y_label=f"predicted {name}", square=True
    )
    plot.reference([(span[0], span[0]), (span[1], span[1])])
    plot.dots([(labels[i], predicted[i]) for i in drawn], "s0", small=True)
    for i in drawn:
        plot.tip(
            labels[i],
            predicted[i],
            f"true {significant(labels[i])}\npredicted {significant(predicted[i])}\ngraph {graphs[i]}",
        )
    cards = [
        card(
            f"{title}predicted against true",
            plot.svg(),
            note=f"{_shown(len(labels))}; the dashed line is a perfect prediction.",
        )
    ]
    if sizes is None:
        return cards
    residuals = predicted - labels
    plot = Plot(
        f"{title}residuals by size",
        padded(list(sizes[drawn])),
        padded(list(residuals[drawn])),
        x_label="nodes of the graph",
        y_label=f"predicted - true {name}",
    )
    plot.reference([(plot.x[0], 0.0), (plot.x[1], 0.0)])
    plot.dots([(sizes[i], residuals[i]) for i in drawn], "s0", small=True)
    middle = _means_by_size(sizes, residuals)
    plot.line(middle, "s1", dots=True)
    for i in drawn:
        plot.tip(sizes[i], residuals[i], f"{sizes[i]} nodes\nresidual {significant(residuals[i])}\ngraph {graphs[i]}")
    note = f"{_shown(len(labels))}; the line is the mean of graphs of similar size."
    return [*cards, card(f"{title}residuals by size", plot.svg(), note=note)]


def _means_by_size(sizes: Array, residuals: Array) -> list[tuple[float, float]]:
    """Return mean size and mean residual of up to eight groups of graphs with about the same number each."""
    order = np.argsort(sizes, kind="stable")
    groups = np.array_split(order, min(8, max(1, len(order) // 5)))
    return [(float(sizes[group].mean()), float(residuals[group].mean())) for group in groups if len(group)]


def _binary(title: str, chance: Array, labels: Array, names: tuple[str, str], threshold: float) -> list[Markup]:
    from sklearn.metrics import average_precision_score, precision_recall_curve, roc_auc_score, roc_curve

    cards = []
    unit = (-0.02, 1.02)
    if 0 < labels.sum() < len(labels):
        area = roc_auc_score(labels, chance)
        false_rate, true_rate, thresholds = roc_curve(labels, chance)
        plot = Plot(
            f"{title}ROC curve", unit, unit, x_label="false positive rate", y_label="true positive rate", square=True
        )
        plot.reference([(0, 0), (1, 1)])
        _curve(plot, false_rate, true_rate, thresholds, "false positives", "true positives")
        cards.append(card(f"{title}ROC curve", plot.svg(), note=f"Area {100 * area:.3f} %; the dashed line is chance."))
        precision, recall, thresholds = precision_recall_curve(labels, chance)
        score = average_precision_score(labels, chance)
        plot = Plot(f"{title}precision and recall", unit, unit, x_label="recall", y_label="precision", square=True)
        plot.reference([(0, labels.mean()), (1, labels.mean())])
        _curve(plot, recall, precision, [*thresholds, math.nan], "recall", "precision")
        share = f"the share of positives, {100 * labels.mean():.1f} %"
        note = f"Average precision {100 * score:.3f} %; the dashed line is {share}."
        cards.append(card(f"{title}precision and recall", plot.svg(), note=note))
    else:
        cards.append(
            card(
                f"{title}ROC curve",
                element("p", "Not defined: all labels of the split are of one class.", class_="note"),
            )
        )
    cards.append(_calibration(title, chance, labels, "share of positives"))
    found = (chance > threshold).astype(int)
    counts = np.array([[int(((labels == true) & (found == pred)).sum()) for pred in (0, 1)] for true in (0, 1)])
    cards.append(_confusion(f"{title}confusion at probability {threshold:.3g}", counts, list(names)))
    return cards


def _curve(plot: Plot, x: Array, y: Array, thresholds: Any, x_name: str, y_name: str) -> None:
    plot.line(list(zip(x, y, strict=True)), "s0")
    step = max(1, len(x) // 300)
    for i in range(0, len(x), step):
        at = f"\nthreshold {thresholds[i]:.3f}" if math.isfinite(thresholds[i]) else ""
        plot.tip(x[i], y[i], f"{x_name} {x[i]:.3f}\n{y_name} {y[i]:.3f}{at}")


def _calibration(title: str, chance: Array, hits: Array, y_label: str) -> Markup:
    """Draw how often what was predicted with some probability is true; bars are the numbers of predictions."""
    place = np.minimum((chance * BINS).astype(int), BINS - 1)
    counts = np.bincount(place, minlength=BINS)
    plot = Plot(
        f"{title}calibration", (0.0, 1.0), (0.0, 1.0), x_label="predicted probability", y_label=y_label, square=True
    )
    for number, count in enumerate(counts):
        if count:
            plot.bar((number / BINS, (number + 1) / BINS), 0.25 * count / counts.max(), "s6")
    plot.reference([(0, 0), (1, 1)])
    points, error = [], 0.0
    for number in map(int, np.flatnonzero(counts)):
        own = place == number
        mean, share = float(chance[own].mean()), float(hits[own].mean())
        points.append((mean, share))
        error += counts[number] / len(chance) * abs(mean - share)
        plot.tip(mean, share, f"probability {mean:.3f}\n{y_label} {share:.3f}\n{counts[number]:,} predictions")
    plot.line(points, "s0", dots=True)
    note = (
        f"Calibration error {error:.3f} (mean distance from the dashed line over {BINS} bins); grey bars: how many "
        f"predictions a bin has, at most {counts.max():,}."
    )
    return card(f"{title}calibration", plot.svg(), note=note)


def _multiclass(evidence: Evidence) -> list[Markup]:
    assert evidence.predictions is not None and evidence.task is not None
    use = evidence.predictions.labels >= 0
    use &= np.isfinite(evidence.predictions.predictions).all(axis=1)
    labels = evidence.predictions.labels[use]
    if not len(labels):
        return []
    chance = probabilities(evidence.predictions.predictions[use], "multiclass")
    found = chance.argmax(axis=1)
    classes = list(evidence.task.classes) or [str(number) for number in range(chance.shape[1])]
    cards = []
    if len(classes) <= MOST_CLASSES:
        counts = np.bincount(labels * len(classes) + found, minlength=len(classes) ** 2).reshape(len(classes), -1)
        cards.append(_confusion("confusion", counts, classes))
    else:
        note = f"There are {len(classes)} classes: a confusion matrix is drawn of up to {MOST_CLASSES}."
        cards.append(card("confusion", element("p", note, class_="note")))
    cards.append(_calibration("", chance.max(axis=1), (found == labels).astype(float), "share of correct predictions"))
    return cards


def _confusion(title: str, counts: Array, names: list[str]) -> Markup:
    """Return a table of how often each true class (row) got each predicted one (column), coloured by its share."""
    rows = []
    for name, row in zip(names, counts, strict=True):
        total = max(int(row.sum()), 1)
        cells = [
            element(
                "td",
                f"{count:,}",
                element("small", f" {100 * count / total:.0f} %"),
                style=f"background:rgba(var(--heat),{0.35 * count / total:.3f})",
            )
            for count in row
        ]
        rows.append(element("tr", element("th", name, scope="row"), *cells))
    head = element("tr", element("th", "true \\ predicted"), *(element("th", name, scope="col") for name in names))
    body = element("table", element("thead", head), element("tbody", *rows))
    note = "Percentages are of the true class (row)."
    characters = max(16, *map(len, names)) + sum(max(10, len(name)) for name in names)
    width = "" if characters <= ONE_CARD else "double" if characters <= 2 * ONE_CARD else "wide"
    return card(title, element("div", body, class_="scroll", tabindex="0"), note=note, width=width)
