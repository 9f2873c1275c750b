import csv

import pytest

from grpe_dgl.recipe import TrainingRecipe
from grpe_dgl.training.history import best_epoch, early_stopping_is_due, seconds_by_part, to_csv

NAN = float("nan")


def history(*values, metric="mae"):
    return [{"epoch": i + 1, f"valid_{metric}": value, "seconds_forward": 0.5} for i, value in enumerate(values)]


@pytest.mark.parametrize(
    ("values", "best"),
    [((), None), ((None, NAN), None), ((0.5, 0.2, 0.2), 1), ((NAN, 0.3, None, 0.4), 1)],
)
def test_best_epoch(values, best):
    assert best_epoch(history(*values), "mae") == best


def test_higher_is_better_for_accuracy():
    assert best_epoch(history(0.5, 0.9, 0.9, metric="accuracy"), "accuracy") == 1


def test_early_stopping_counts_epochs_since_the_best():
    training = TrainingRecipe(batch_size=1, epochs=9, metric="mae", early_stopping=2)
    assert not early_stopping_is_due(history(0.5, 0.2, 0.3), training)
    assert early_stopping_is_due(history(0.5, 0.2, 0.3, None), training)
    assert not early_stopping_is_due(history(NAN, NAN, NAN), training)
    assert not early_stopping_is_due(history(0.1, 0.2, 0.3, 0.4), TrainingRecipe(batch_size=1, epochs=9, metric="mae"))


def test_seconds_are_summed_by_part():
    assert seconds_by_part(history(0.1, 0.2, 0.3)) == {"forward": 1.5}


def test_csv_has_an_empty_cell_where_nothing_was_measured():
    first, second = csv.DictReader(to_csv(history(0.25, None)).splitlines())
    assert (first["valid_mae"], second["valid_mae"], second["epoch"]) == ("0.25", "", "2")
