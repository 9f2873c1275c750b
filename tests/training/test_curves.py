import pytest
from matplotlib.figure import Figure

from grpe_dgl.training.curves import draw_curves


@pytest.fixture
def draw(tmp_path, monkeypatch):
    """Draw validation maes by epoch; return the two axes after the file was written."""
    drawn = []
    savefig = Figure.savefig

    def keep(figure, *arguments, **options):
        drawn.append(figure)
        savefig(figure, *arguments, **options)

    monkeypatch.setattr(Figure, "savefig", keep)

    def draw(*values):
        history = [{"epoch": i + 1, "train_loss": 1.0, "valid_mae": value} for i, value in enumerate(values)]
        draw_curves(history, metric="mae", loss="l1", title="a run", path=tmp_path / "curves.png")
        assert (tmp_path / "curves.png").read_bytes().startswith(b"\x89PNG")
        return drawn[-1].axes

    return draw


def test_the_best_epoch_is_named_outside_the_curve(draw):
    _, right = draw(0.7, 0.25, 0.5)
    legend = right.get_legend()
    assert [text.get_text() for text in legend.get_texts()] == ["best 0.25, epoch 2"]
    assert legend.get_window_extent().y0 >= right.get_window_extent().y1
    assert not right.texts


def test_one_epoch_has_whole_ticks(draw):
    for axes in draw(0.7):
        assert axes.get_xticks().tolist() == [0, 1, 2] and axes.get_xlim() == (0, 2)


def test_epochs_without_a_measurement(draw):
    _, right = draw(None, None)
    assert right.get_legend() is None
