"""`training.compile`: torch.compile over padded batches with the CPU's inductor, as on a GPU."""

import numpy as np
import pytest
import torch

import grpe_dgl.data
from grpe_dgl.checkpoint.file import load_checkpoint
from grpe_dgl.training.run import Callbacks, run
from tests.training.tiny import recipe, write_dataset

QUIET = {"model__dropout": 0.0, "model__attention_dropout": 0.0, "model__input_noise": 0.0}


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # torch's own, while it compiles
def test_a_compiled_run_has_the_same_numbers_and_few_compilations(tmp_path):
    data = grpe_dgl.data.load(write_dataset(tmp_path / "data", "regression"))
    curves, saved = [], []
    torch._dynamo.reset()
    torch._dynamo.utils.counters.clear()
    for compiled in (False, True):
        settings = recipe(**QUIET, model__layers=1, training__epochs=4, training__compile=compiled)
        losses = []
        step = Callbacks(step=lambda update, updates, loss, rate, losses=losses: losses.append(loss))
        run(settings, data, tmp_path / f"{compiled}", callbacks=step)
        curves.append(losses)
        saved.append(load_checkpoint(tmp_path / f"{compiled}" / "last.ckpt"))
    assert len(curves[1]) == 20
    np.testing.assert_allclose(curves[1], curves[0], rtol=1e-4, atol=1e-5)
    assert saved[0].weights.keys() == saved[1].weights.keys()
    # Batches differ in graphs and nodes. Shapes are dynamic: a compilation for one graph and one for several, in
    # training and in evaluation, and no more for the many sizes.
    assert 1 <= torch._dynamo.utils.counters["stats"]["unique_graphs"] <= 6
    assert not torch._dynamo.utils.counters["graph_break"]
    torch._dynamo.reset()
