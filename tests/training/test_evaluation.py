import dataclasses
import math

import pytest
import torch

import grpe_dgl.data
from grpe_dgl.checkpoint.build import build_model
from grpe_dgl.errors import InputError
from grpe_dgl.training.distributed import SINGLE, Processes
from grpe_dgl.training.evaluation import (
    batch_of_rows,
    by_target,
    has_validation,
    is_labelled,
    measure,
    predict_split,
    require_validation,
)
from tests.training.tiny import TASKS, recipe, write_dataset

NAN = math.nan


@pytest.fixture(scope="module", params=["regression", "multiclass"])
def data(request, tmp_path_factory):
    return grpe_dgl.data.load(write_dataset(tmp_path_factory.mktemp("data") / "tiny", request.param))


@pytest.fixture
def model(data):
    torch.manual_seed(0)
    return build_model(recipe().model, data.schema)


def test_predictions_do_not_depend_on_the_batch_size(data, model):
    schema = data.schema
    model.train()
    whole = predict_split(model, data.train, schema, batch_size=100)
    done = []
    parts = predict_split(model, data.train, schema, batch_size=3, after_batch=done.append)
    torch.testing.assert_close(parts, whole, rtol=1e-4, atol=1e-4)
    assert sum(done) == len(data.train) == 20 and len(done) == 7
    assert model.training
    assert whole.shape == (len(data.train.labels()), data.task.num_outputs)


@pytest.mark.parametrize("world_size", [2, 3])
def test_predictions_of_several_processes_are_in_the_order_of_the_split(data, model, world_size):
    """What each process computes is gathered by hand: the real gather is in test_distributed."""
    schema = data.schema
    gathered: list[torch.Tensor] = []

    @dataclasses.dataclass(frozen=True)
    class Collecting(Processes):
        def gather(self, rows):
            gathered.append(rows)
            return gathered if len(gathered) == self.world_size else [rows] * self.world_size

    for rank in range(world_size):
        processes = Collecting(rank=rank, world_size=world_size)
        predictions = predict_split(model, data.train, schema, batch_size=7, processes=processes)
    expected = predict_split(model, data.train, schema, batch_size=7, processes=SINGLE)
    torch.testing.assert_close(predictions, expected, rtol=1e-4, atol=1e-4)


def test_measure_is_nan_where_the_metric_is_undefined():
    assert math.isnan(measure("rocauc", torch.zeros(3, 1), torch.ones(3, 1)))
    assert measure("mae", torch.zeros(2, 1), torch.tensor([[1.0], [NAN]])) == 1.0


def test_rows_belong_to_consecutive_graphs_of_the_split(data):
    batch = batch_of_rows(data.train, 8)
    rows = data.train.batches(batch_size=8).epoch(0)
    assert batch.tolist() == [number for number, part in enumerate(rows) for _ in range(len(part.label))]
    assert len(batch) == len(data.train.labels()) and int(batch[-1]) == 2


def test_by_target():
    task = dataclasses.replace(TASKS["binary"], targets=("a", "b"))
    predictions = torch.tensor([[2.0, 1.0], [-1.0, 1.0]])
    labels = torch.tensor([[1.0, 1.0], [0.0, NAN]])
    assert by_target(predictions, labels, task, ["rocauc", "accuracy"]) == {
        "a": {"rocauc": 1.0, "accuracy": 1.0},
        "b": {"rocauc": None, "accuracy": 1.0},
    }
    assert by_target(predictions, labels, TASKS["regression"], ["mae"]) == {}


def test_a_validation_split_that_cannot_select_an_epoch_is_refused(tmp_path):
    one_class = grpe_dgl.data.load(write_dataset(tmp_path / "one_class", "binary", valid_labels=1.0))
    with pytest.raises(InputError, match="rocauc .* labels of both classes.*training.metric: accuracy") as error:
        require_validation(one_class, "rocauc")
    assert (error.value.hint, error.value.value) == ("other_metric", "accuracy") and "--" not in str(error.value)
    require_validation(one_class, "accuracy")
    empty = grpe_dgl.data.load(write_dataset(tmp_path / "empty", "regression", num_valid=0))
    require_validation(empty, "mae")  # the model of the last epoch is taken
    assert has_validation(one_class) and not has_validation(empty)


def test_is_labelled(data, tmp_path):
    assert is_labelled(data.train)
    unlabelled = grpe_dgl.data.load(write_dataset(tmp_path / "none", "regression", valid_labels=NAN))
    assert not is_labelled(unlabelled.valid) and is_labelled(unlabelled.test)
