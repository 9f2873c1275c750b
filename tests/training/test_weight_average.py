"""The average follows its formula, is what is evaluated and kept, and resumes exactly."""

import numpy as np
import pytest
import torch

import grpe_dgl.data
from grpe_dgl.checkpoint.file import load_checkpoint
from grpe_dgl.errors import InputError
from grpe_dgl.training.evaluation import predict_split
from grpe_dgl.training.run import run
from grpe_dgl.training.stop_request import Stopped
from grpe_dgl.training.weight_average import WeightAverage
from tests.training.test_run import Stop, assert_equal_weights, weights
from tests.training.tiny import recipe, write_dataset


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return grpe_dgl.data.load(write_dataset(tmp_path_factory.mktemp("data") / "tiny", "regression"))


def test_formula_with_buffers():
    model = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.BatchNorm1d(3)).double()
    average = WeightAverage(model, 0.5)
    expected = {name: value.clone() for name, value in model.state_dict().items()}
    for update in range(1, 12):
        model(torch.randn(4, 2, dtype=torch.float64))
        with torch.no_grad():
            model[0].weight.add_(torch.randn(3, 2))
        average.update(update)
        decay = min(0.5, (1 + update) / (10 + update))
        for name, value in model.state_dict().items():
            if value.is_floating_point():
                expected[name] = decay * expected[name] + (1 - decay) * value
            else:
                expected[name] = value
    for name, value in average.weights().items():
        torch.testing.assert_close(value, expected[name], rtol=1e-12, atol=0)


def test_weights_are_exchanged_and_given_back_even_after_an_error():
    model = torch.nn.Linear(2, 2)
    average = WeightAverage(model, 0.9)
    first = model.weight.detach().clone()
    with torch.no_grad():
        model.weight.add_(1.0)
    with pytest.raises(ValueError, match="within"), average.applied():
        assert torch.equal(model.weight, first)
        raise ValueError("within")
    assert torch.equal(model.weight, first + 1.0) and torch.equal(average.values["weight"], first)


def test_the_kept_model_is_the_average_and_the_curve_is_its_own(data, tmp_path):
    results = run(recipe(training__weight_average=0.8), data, tmp_path / "average")
    run(recipe(), data, tmp_path / "plain")
    last, plain = (load_checkpoint(tmp_path / name / "last.ckpt") for name in ("average", "plain"))
    assert_equal_weights(last.weights, plain.weights)  # averaging does not change the training itself
    best = load_checkpoint(tmp_path / "average" / "best.ckpt")
    if results["best_epoch"] == results["epochs"]:
        assert_equal_weights(best.weights, last.training["average"])
    model = best.model()
    predictions = predict_split(model, data.test, best.schema, batch_size=4)
    with np.load(tmp_path / "average" / "predictions_test.npz") as arrays:
        np.testing.assert_allclose(predictions.numpy(), arrays["predictions"], rtol=1e-6)
    assert best.metrics["valid_mae"] == pytest.approx(results["splits"]["valid"], rel=1e-6)


@pytest.mark.parametrize("updates", [3, 10])
def test_resumes_bit_for_bit(data, tmp_path, updates):
    own = recipe(training__weight_average=0.8)
    whole = run(own, data, tmp_path / "whole")
    with pytest.raises(Stopped):
        run(own, data, tmp_path / "parts", stop=Stop(updates))
    torch.manual_seed(12345)
    assert run(own, data, tmp_path / "parts")["splits"] == whole["splits"]
    for file in ("last.ckpt", "best.ckpt"):
        assert_equal_weights(weights(tmp_path / "whole", file), weights(tmp_path / "parts", file))


@pytest.mark.parametrize("decay", [0.0, 1.0, -0.5])
def test_decay_is_checked(decay):
    with pytest.raises(InputError, match=r"training\.weight_average is .*; accepted: above 0 and below 1, or null"):
        recipe(training__weight_average=decay)
