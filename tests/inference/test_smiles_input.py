import warnings

import numpy as np
import pytest

import grpe_dgl
from grpe_dgl.errors import InputError
from grpe_dgl.inference.smiles_input import smiles_of
from tests import trained

pandas = pytest.importorskip("pandas")


@pytest.fixture(scope="module")
def predictor(tmp_path_factory):
    return grpe_dgl.load(trained.save(tmp_path_factory.mktemp("inputs") / "x.ckpt"))


@pytest.mark.parametrize(
    "make",
    [
        lambda texts: pandas.DataFrame({"name": ["a", "b"], "SMILES": texts}),
        lambda texts: {"canonical_smiles": texts, "y": [1, 2]},
        lambda texts: pandas.Series(texts, index=[7, 3]),
        lambda texts: (text for text in texts),
        lambda texts: np.array(texts),
        lambda texts: tuple(texts),
    ],
    ids=["DataFrame", "dict", "Series", "generator", "array", "tuple"],
)
def test_predictions_are_those_of_the_molecules(predictor, make):
    texts = ["CCO", "c1ccccc1"]
    np.testing.assert_array_equal(predictor.predict(make(texts)), predictor.predict(texts))
    np.testing.assert_array_equal(predictor.fingerprint(make(texts)), predictor.fingerprint(texts))


@pytest.mark.parametrize("missing", [None, float("nan"), np.nan, pandas.NA], ids=str)
def test_a_missing_molecule_is_a_row_of_nan(predictor, missing):
    with pytest.warns(UserWarning, match="^molecule 1: there is none$"):
        found = predictor.predict(["CCO", missing, "CO"])
    assert np.isnan(found[1]).all() and np.isfinite(found[[0, 2]]).all()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        frame = pandas.DataFrame({"smiles": ["CCO", missing, "CO"]})
        np.testing.assert_array_equal(predictor.predict(frame), found)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (pandas.DataFrame({"name": ["C"], "y": [1]}), "a DataFrame with the columns 'name', 'y'; accepted: one that"),
        ({"C": 1, "CC": 2}, "a dict with the columns 'C', 'CC'"),
        (pandas.DataFrame([["C", "CC"]], columns=["smiles", "SMILES"]), "2 columns called 'smiles'"),
        ({"CCO"}, "smiles is a set"),
        (7, "smiles is a int"),
        (None, "smiles is a NoneType"),
        (b"CCO", "smiles is the text"),
        (np.array([["C", "CC"]]), r"smiles has shape \(1, 2\)"),
        ([1.5], "molecule 0 is 1.5, not a text"),
    ],
)
def test_refused(given, message):
    with pytest.raises(InputError, match=message):
        smiles_of(given)
