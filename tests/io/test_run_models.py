import json

import pytest

from grpe_dgl.errors import InputError
from grpe_dgl.io.run_models import is_run_folder, models_of


def finished(folder):
    folder.mkdir(parents=True)
    (folder / "best.ckpt").touch()
    (folder / "results.json").write_text("{}")
    return folder / "best.ckpt"


def test_one_model_seeds_and_folds_in_the_order_of_their_numbers(tmp_path):
    assert models_of(finished(tmp_path / "one").parent) == [tmp_path / "one/best.ckpt"]
    seeds = [finished(tmp_path / "seeds" / f"seed-{seed}") for seed in (10, 9)]
    assert models_of(tmp_path / "seeds") == seeds[::-1]
    folds = [finished(tmp_path / "folds" / f"repeat-{repeat}/fold-{fold}") for repeat in (1, 2) for fold in (1, 2)]
    (tmp_path / "folds/folds.json").write_text(json.dumps({"folds": 2, "repeats": 2}))
    assert models_of(tmp_path / "folds") == folds
    assert all(is_run_folder(tmp_path / name) for name in ("one", "seeds", "folds")) and not is_run_folder(tmp_path)


def test_what_is_no_finished_run_is_refused(tmp_path):
    with pytest.raises(InputError, match="is a folder without a trained model"):
        models_of(tmp_path)
    finished(tmp_path / "variants/near/seed-0")
    with pytest.raises(InputError, match=r"runs of several variants; accepted: the folder of one, such as .*/near$"):
        models_of(tmp_path / "variants")
    finished(tmp_path / "stopped").with_name("results.json").unlink()
    with pytest.raises(InputError, match=r"no results.json; its best model so far is .*stopped/best.ckpt$"):
        models_of(tmp_path / "stopped")
    finished(tmp_path / "folds/fold-1")
    (tmp_path / "folds/folds.json").write_text(json.dumps({"folds": 5, "repeats": 1}))
    with pytest.raises(InputError, match="is not finished: 1 of 5 models are trained"):
        models_of(tmp_path / "folds")
    (tmp_path / "folds/folds.json").write_text("{")
    with pytest.raises(InputError, match="folds.json is damaged"):
        models_of(tmp_path / "folds")
    finished(tmp_path / "removed").unlink()
    with pytest.raises(InputError, match="has no best.ckpt: the model was removed"):
        models_of(tmp_path / "removed")
