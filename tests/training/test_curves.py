import itertools

import pytest
from matplotlib.figure import Figure
from matplotlib.text import Text

from grpe_dgl.objectives import LOSSES_OF_KIND, METRICS
from grpe_dgl.training.curves import draw_curves


@pytest.fixture
def draw(tmp_path, monkeypatch):
    """Draw validation metrics by epoch; return the two axes after the file was written."""
    drawn = []
    savefig = Figure.savefig

    def keep(figure, *arguments, **options):
        drawn.append(figure)
        savefig(figure, *arguments, **options)

    monkeypatch.setattr(Figure, "savefig", keep)

    def draw(*values, metric="mae", loss="l1", title="a run", train_loss=1.0):
        history = [
            {"epoch": i + 1, "train_loss": train_loss, f"valid_{metric}": value} for i, value in enumerate(values)
        ]
        draw_curves(history, metric=metric, loss=loss, title=title, path=tmp_path / "curves.png")
        assert (tmp_path / "curves.png").read_bytes().startswith(b"\x89PNG")
        return drawn[-1].axes

    return draw


def test_the_best_and_the_last_epoch_are_named_outside_the_curve(draw):
    left, right = draw(0.7, 0.25, 0.5)
    for axes, label in ((right, "best 0.25, epoch 2"), (left, "last 1, epoch 3")):
        legend = axes.get_legend()
        assert [text.get_text() for text in legend.get_texts()] == [label]
        assert legend.get_window_extent().y0 >= axes.get_window_extent().y1


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("title", ["zinc, seed 0", "a dataset with a long name " * 8])
def test_texts_do_not_overlap_and_lie_inside_the_picture(draw, metric, title):
    loss = max((loss for kind in METRICS[metric].kinds for loss in LOSSES_OF_KIND[kind]), key=len)
    axes = draw(*[0.123456 + epoch / 5000 for epoch in range(1000)], metric=metric, loss=loss, title=title)
    figure = axes[0].figure
    figure.canvas.draw()
    renderer = figure.canvas.get_renderer()
    texts = [*figure.texts, *(each.xaxis.label for each in axes)]
    texts += [child for each in axes for child in each.get_children() if isinstance(child, Text) and child.get_text()]
    boxes = [(text.get_text(), text.get_window_extent(renderer)) for text in texts]
    boxes += [("a legend", each.get_legend().get_window_extent()) for each in axes if each.get_legend()]
    boxes += [("a frame", each.get_window_extent()) for each in axes]
    titles = {f"training loss ({loss})", f"validation {metric}{' (%)' if METRICS[metric].percent else ''}", title}
    assert titles < {name for name, _ in boxes} and len(boxes) == 9  # with two labels, legends and frames
    for (name, box), (other, other_box) in itertools.combinations(boxes, 2):
        assert not box.overlaps(other_box), (name, other)
    for name, box in boxes:
        assert box.x0 >= 0 and box.y0 >= 0 and box.x1 <= figure.bbox.x1 and box.y1 <= figure.bbox.y1, name


def test_one_epoch_has_whole_ticks(draw):
    for axes in draw(0.7):
        assert axes.get_xticks().tolist() == [0, 1, 2] and axes.get_xlim() == (0, 2)


def test_epochs_without_a_measurement(draw):
    _, right = draw(None, None)
    assert right.get_legend() is None


def test_epochs_without_a_loss(draw):
    left, _ = draw(0.5, train_loss=None)
    assert left.get_legend() is None


def test_rounding_is_not_stretched_over_the_plot(draw):
    _, right = draw(0.5, 0.5 + 1e-7, 0.5 - 1e-7)
    low, high = right.get_ylim()
    assert high - low > 0.05 and low < 0.5 < high
    _, right = draw(0.5, 0.499)
    low, high = right.get_ylim()
    assert high - low < 0.01
