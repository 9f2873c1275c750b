"""OGB-LSC's submission files for PCQM4M's unlabelled splits, written by OGB's own evaluators."""

from pathlib import Path

from torch import Tensor

from grpe_dgl.errors import InputError
from grpe_dgl.io.ogb_import import import_ogb


def write_submission(predictions: Tensor, dataset: str, split: str, folder: Path) -> Path:
    """Write the file to submit to OGB's leaderboard, and return its path.

    Parameters
    ----------
    predictions
        (molecules, 1), for the whole split, in its order and in eV.
    dataset
        ``pcqm4m`` (split test) or ``pcqm4mv2`` (splits test-dev and test-challenge).
    split
        The split that was predicted.
    folder
        Where to write the file; created if it does not exist.
    """
    lsc = import_ogb("ogb.lsc")
    values = {"y_pred": predictions.squeeze(1).double().numpy()}
    folder.mkdir(parents=True, exist_ok=True)
    try:
        if dataset == "pcqm4mv2" and split in ("test-dev", "test-challenge"):
            lsc.PCQM4Mv2Evaluator().save_test_submission(values, str(folder), mode=split)
            return folder / f"y_pred_pcqm4m-v2_{split}.npz"
        if dataset == "pcqm4m" and split == "test":
            lsc.PCQM4MEvaluator().save_test_submission(values, str(folder))
            return folder / "y_pred_pcqm4m.npz"
    except (AssertionError, RuntimeError) as error:
        raise InputError(
            f"OGB's evaluator refuses {len(predictions):,} predictions for the split {split} of {dataset}: it accepts "
            f"only the whole published split{f' ({error})' if str(error) else ''}"
        ) from None
    raise InputError(
        f"there is no submission for the split {split} of {dataset}; accepted: test-dev and test-challenge of "
        "pcqm4mv2, test of pcqm4m"
    )
