import numpy as np
import pytest
import torch

from grpe_dgl.errors import InputError
from grpe_dgl.training.submission import write_submission


@pytest.mark.parametrize(
    "dataset, split, count",
    [("pcqm4mv2", "test-dev", 147_037), ("pcqm4mv2", "test-challenge", 147_432), ("pcqm4m", "test", 377_423)],
)
def test_ogb_takes_the_whole_split(dataset, split, count, tmp_path):
    predictions = torch.arange(count).float().unsqueeze(1) / count
    path = write_submission(predictions, dataset, split, tmp_path / "new")
    assert path.is_file()
    with np.load(path) as arrays:
        written = arrays["y_pred"]
    np.testing.assert_allclose(written, predictions[:, 0].numpy(), rtol=1e-3, atol=1e-3)


def test_ogb_refuses_part_of_it(tmp_path):
    with pytest.raises(InputError, match="refuses 5 predictions for the split test-dev of pcqm4mv2: it accepts only"):
        write_submission(torch.zeros(5, 1), "pcqm4mv2", "test-dev", tmp_path)


def test_other_splits_have_no_submission(tmp_path):
    with pytest.raises(InputError, match="no submission for the split valid of pcqm4mv2; accepted: test-dev and"):
        write_submission(torch.zeros(5, 1), "pcqm4mv2", "valid", tmp_path)
