import pytest

from grpe_dgl_cli.support.run_display import curve, result_lines


def test_a_curve_without_numbers(tmp_path):
    (tmp_path / "metrics.csv").write_text("epoch,valid_ap\n1,nan\n2,\n")
    assert "valid ap: undefined in every epoch" in curve(tmp_path, "ap")
    (tmp_path / "metrics.csv").write_text("epoch,valid_ap\n1,nan\n2,0.5\n")
    assert "50.000 % ▁ 50.000 %" in curve(tmp_path, "ap")


def test_results_of_a_run_that_stopped_early():
    results = {"metric": "mae", "splits": {"valid": 0.5}, "epochs": 7, "seconds": 3.2, "stopped_early": True}
    assert result_lines({**results, "best_epoch": 5}) == (
        "stopped early: no better epoch for 2\ndone after 7 epochs, 3 s; best epoch 5: mae valid 0.5000"
    )


def test_results_without_a_best_epoch():
    """The metric was undefined in every epoch, so that early stopping found none better."""
    results = {"metric": "mae", "splits": {"test": 0.5}, "epochs": 7, "seconds": 3.2, "best_epoch": None}
    assert result_lines({**results, "stopped_early": True}).startswith("stopped early: no better epoch for 7\n")
    assert result_lines({**results, "stopped_early": False}) == (
        "done after 7 epochs, 3 s; best epoch unknown: mae test 0.5000"
    )


@pytest.mark.parametrize("noise", [0.0, 1e-8, 4e-7])
def test_rounding_is_drawn_flat(tmp_path, noise):
    values = [0.5 + noise * (-1) ** epoch * epoch / 10 for epoch in range(10)]
    (tmp_path / "metrics.csv").write_text("epoch,valid_mae\n" + "".join(f"1,{value!r}\n" for value in values))
    assert "0.5000 ▁▁▁▁▁▁▁▁▁▁ 0.5000" in curve(tmp_path, "mae")


def test_small_numbers_and_their_progress_are_shown(tmp_path):
    (tmp_path / "metrics.csv").write_text("epoch,valid_mae\n1,8e-6\n2,4e-6\n3,1e-6\n")
    assert "valid mae 8e-06 █▄▁ 1e-06" in curve(tmp_path, "mae")


def test_results_of_a_run_whose_learning_rate_fell_below_its_minimum():
    results = {"metric": "mae", "splits": {"valid": 0.5}, "epochs": 7, "seconds": 3.2, "best_epoch": 5}
    ended = {**results, "stopped_early": True, "minimum_learning_rate_reached": True}
    assert result_lines(ended).startswith(
        "stopped early: the learning rate fell below training.minimum_learning_rate\ndone after 7 epochs"
    )
