import copy
import io
import pickle

import numpy as np
import pandas
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from grpe_dgl.errors import InputError
from grpe_dgl.sklearn import GRPEClassifier, GRPERegressor, _validation_rows
from tests.small_table import SMALL, frame

TABLE = frame(24)
SMILES, SIZE, KIND = (TABLE[name].to_numpy() for name in ("SMILES", "size", "kind"))
QUICK = {"settings": SMALL, "epochs": 1, "random_state": 0}


@pytest.fixture(scope="module")
def regressor():
    return GRPERegressor(**QUICK).fit(SMILES, SIZE)


def test_every_form_of_input_gives_the_same(regressor):
    expected = regressor.predict(list(SMILES))
    assert expected.shape == (24,) and np.isfinite(expected).all() and regressor.n_features_in_ == 1
    for given in (SMILES, TABLE["SMILES"], TABLE[["SMILES"]], SMILES[:, None], [[text] for text in SMILES]):
        np.testing.assert_array_equal(regressor.predict(given), expected)
    with pytest.raises(InputError, match="X has 2 columns; accepted: one, of SMILES"):
        regressor.predict(TABLE[["SMILES", "kind"]])
    with pytest.warns(UserWarning, match="molecule 1"):
        assert np.isnan(regressor.predict(["CC", "no molecule"])).tolist() == [False, True]


def test_parameters_clone_and_random_state(regressor):
    assert clone(regressor).get_params() == regressor.get_params()
    again = clone(regressor).set_params(random_state=0).fit(TABLE[["SMILES"]], TABLE["size"])
    np.testing.assert_array_equal(again.predict(SMILES), regressor.predict(SMILES))
    with pytest.raises(NotFittedError):
        clone(regressor).predict(SMILES)


def test_copies_predict_the_same(regressor):
    joblib = pytest.importorskip("joblib")
    file = io.BytesIO()
    joblib.dump(regressor, file)
    file.seek(0)
    for other in (copy.deepcopy(regressor), pickle.loads(pickle.dumps(regressor)), joblib.load(file)):
        np.testing.assert_array_equal(other.predict(SMILES[:3]), regressor.predict(SMILES[:3]))


def test_several_targets():
    labels = np.column_stack([SIZE, -SIZE])
    labels[3, 1] = np.nan
    model = GRPERegressor(**QUICK).fit(SMILES, labels)
    assert model.predict(SMILES).shape == (24, 2) and model.n_outputs_ == 2


def test_cross_validation_search_and_pipeline():
    scores = cross_val_score(GRPERegressor(**QUICK), TABLE["SMILES"], TABLE["size"], cv=2, error_score="raise")
    assert np.isfinite(scores).all() and len(scores) == 2
    pipe = make_pipeline(FunctionTransformer(lambda texts: [text.strip() for text in texts]), GRPEClassifier(**QUICK))
    search = GridSearchCV(pipe, {"grpeclassifier__epochs": [1, 2]}, cv=2, error_score="raise", refit=False)
    search.fit(SMILES, KIND)
    assert search.best_params_["grpeclassifier__epochs"] in (1, 2)


@pytest.mark.parametrize("labels", [KIND, np.arange(24) % 3 * 10, (SIZE > 5), ["b", "a", "c", "a"] * 6])
def test_classes_of_any_type(labels):
    model = GRPEClassifier(**QUICK).fit(SMILES, labels)
    np.testing.assert_array_equal(model.classes_, np.unique(labels))
    probabilities = model.predict_proba(SMILES)
    assert probabilities.shape == (24, len(model.classes_))
    np.testing.assert_allclose(probabilities.sum(1), 1, rtol=1e-5)
    np.testing.assert_array_equal(model.predict(SMILES), model.classes_[probabilities.argmax(1)])
    assert 0 <= model.score(SMILES, labels) <= 1


def test_weights_of_rows_reach_the_training():
    plain = GRPERegressor(**QUICK, validation_fraction=0)
    same = clone(plain).fit(SMILES, SIZE, sample_weight=np.full(24, 3.0)).predict(SMILES[:3])
    np.testing.assert_allclose(same, clone(plain).fit(SMILES, SIZE).predict(SMILES[:3]), rtol=1e-4)
    other = clone(plain).fit(SMILES, SIZE, sample_weight=np.arange(24) % 2)
    only = clone(plain).fit(SMILES, np.where(np.arange(24) % 2, SIZE, 99.0), sample_weight=np.arange(24) % 2)
    assert abs(other.predict(SMILES[:3]) - same).max() > 1e-4 and np.isfinite(only.predict(SMILES[:3])).all()
    classifier = GRPEClassifier(**QUICK, standardise=True).fit(SMILES, KIND, sample_weight=list(range(24)))
    assert classifier.predictor_.schema.standardised_molecules
    scores = cross_val_score(plain, SMILES, SIZE, cv=2, params={"sample_weight": np.ones(24)}, error_score="raise")
    assert np.isfinite(scores).all()
    for weights, message in ((np.ones(3), r"shape \(3,\); accepted: \(24,\)"), (-np.ones(24), "numbers of 0 or more")):
        with pytest.raises(InputError, match=message):
            clone(plain).fit(SMILES, SIZE, sample_weight=weights)


def test_rare_classes_select_the_epoch_too():
    rare = np.array(["no"] * 22 + ["yes"] * 2)
    valid = _validation_rows(rare, 0.1, np.random.RandomState(0))
    assert valid.sum() == 3 and valid[22:].sum() == 1
    single = np.array(["no"] * 23 + ["yes"])  # accuracy is defined without the rare class
    assert GRPEClassifier(**QUICK).fit(SMILES, single).predict_proba(SMILES).shape == (24, 2)
    assert not _validation_rows(rare, 0.0, np.random.RandomState(0)).any()


@pytest.mark.parametrize(
    ("estimator", "x", "y", "error"),
    [
        (GRPEClassifier(), SMILES, ["a"] * 24, "y has 1 class"),
        (GRPEClassifier(), SMILES, SIZE / 7, "Unknown label type"),
        (GRPERegressor(), SMILES, SIZE[:3], "inconsistent numbers of samples"),
        (GRPERegressor(), [None, "C"], [1.0, 2.0], "molecule 0 is missing"),
        (GRPERegressor(), [], [], "X has no rows"),
        (GRPERegressor(validation_fraction=1.0), SMILES, SIZE, "validation_fraction is 1.0"),
        (GRPERegressor(), SMILES, SIZE * np.inf, "infinite"),
        (GRPERegressor(), pandas.DataFrame({"a": [1]}), [1.0], "not a text"),
    ],
)
def test_refused(estimator, x, y, error):
    with pytest.raises(ValueError, match=error):
        estimator.fit(x, y)
