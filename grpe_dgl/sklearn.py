"""Estimators that follow scikit-learn's conventions and take SMILES.

>>> from sklearn.model_selection import cross_val_score
>>> from grpe_dgl.sklearn import GRPERegressor
>>> cross_val_score(GRPERegressor(epochs=30), smiles, log_s, cv=5)    # doctest: +SKIP
"""

import io
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets, unique_labels
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from grpe_dgl.checkpoint.file import load_checkpoint
from grpe_dgl.errors import InputError
from grpe_dgl.inference.predictor import Predictor
from grpe_dgl.inference.run_predictor import RunPredictor
from grpe_dgl.inference.smiles_input import smiles_of
from grpe_dgl.recipe import Recipe
from grpe_dgl.recipe.overrides import parse_overrides

Array = npt.NDArray[Any]


class _Estimator(BaseEstimator):
    """What both estimators share; their parameters are those of `grpe_dgl.fit`.

    Parameters
    ----------
    recipe
        The name of a recipe, the path of one, or a recipe.
    settings
        Keys of the recipe to change: ``{"model.layers": 4}``.
    epochs
        The length of the schedule; None for the recipe's.
    validation_fraction
        The share of the rows that selects the best epoch; 0 trains on every row and takes the last epoch.
    random_state
        An integer, a numpy generator of the old kind, or None for another model at every fit.
    max_nodes
        The largest molecule, in atoms.
    standardise
        Whether molecules are reduced to their largest fragment, without charges where possible.
    device
        Where the model is trained and used.
    """

    def __init__(
        self,
        recipe: str | Path | Recipe = "property",
        *,
        settings: Mapping[str, object] | Iterable[str] | None = None,
        epochs: int | None = None,
        validation_fraction: float = 0.1,
        random_state: Any = None,
        max_nodes: int = 512,
        standardise: bool = False,
        device: str = "cpu",
    ) -> None:
        self.recipe = recipe
        self.settings = settings
        self.epochs = epochs
        self.validation_fraction = validation_fraction
        self.random_state = random_state
        self.max_nodes = max_nodes
        self.standardise = standardise
        self.device = device

    def __sklearn_tags__(self) -> Any:
        """Return scikit-learn's tags: the input is one column of texts."""
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.two_d_array = False
        tags.input_tags.one_d_array = True
        tags.non_deterministic = self.random_state is None
        return tags

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "predictor_")

    def _fit(
        self,
        smiles: list[str | None],
        columns: dict[str, Any],
        task: str,
        sample_weight: Any,
        strata: Array | None = None,
    ) -> None:
        """Train on SMILES and columns of labels, and set the attributes that end in an underscore.

        Every class of `strata`, (R,), has its share of the rows that select the epoch.
        """
        import pandas

        from grpe_dgl.workflows.fit import fit

        if not 0 <= self.validation_fraction < 1:
            raise InputError(f"validation_fraction is {self.validation_fraction}; accepted: 0 or more and less than 1")
        unreadable = [place for place, text in enumerate(smiles) if text is None]
        if unreadable:
            raise InputError(f"molecule {unreadable[0]} is missing; accepted: a SMILES in every row")
        if not smiles:
            raise InputError("X has no rows; accepted: one or more molecules")
        weights = _weights(sample_weight, len(smiles))
        random = check_random_state(self.random_state)
        seed = int(random.randint(np.iinfo(np.int32).max))
        groups = np.zeros(len(smiles), int) if strata is None else strata
        valid = _validation_rows(groups, self.validation_fraction, random)
        frame = pandas.DataFrame({"smiles": smiles, **columns, "split": np.where(valid, "valid", "train")})
        if weights is not None:
            frame["weight"] = weights
        settings = parse_overrides(self.settings or ())
        if strata is not None and len(np.unique(groups[valid])) < len(np.unique(groups)):
            settings = {"training.metric": "accuracy", **settings}  # ranks of a class that is not there are undefined
        self.predictor_ = fit(
            frame,
            "smiles",
            list(columns),
            task=task,
            weights=None if weights is None else "weight",
            recipe=self.recipe,
            settings=settings,
            epochs=self.epochs,
            split_column="split",
            seed=seed,
            max_nodes=self.max_nodes,
            standardise=self.standardise,
            device=self.device,
        )
        self.n_features_in_ = 1

    def _predict(self, X: Any) -> Array:  # noqa: N803 - scikit-learn's name
        check_is_fitted(self)
        return np.asarray(self.predictor_.predict(one_column(X), max_nodes=self.max_nodes), np.float64)

    def __getstate__(self) -> dict[str, Any]:
        """Return the state for copies and files: the model as the bytes of its checkpoint."""
        state = dict(super().__getstate__())
        predictor = state.pop("predictor_", None)
        if predictor is not None:
            state["_checkpoints"] = [_to_bytes(member) for member in predictor.members]
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        state = dict(state)
        checkpoints = state.pop("_checkpoints", None)
        super().__setstate__(state)
        if checkpoints is not None:
            self.predictor_ = RunPredictor([_from_bytes(content, self.device) for content in checkpoints])


class GRPERegressor(RegressorMixin, _Estimator):
    """A graph transformer that predicts one or several numbers of molecules; takes SMILES.

    Attributes
    ----------
    predictor_ : RunPredictor
        The trained model.
    n_features_in_ : int
        1, the column of SMILES.
    n_outputs_ : int
    """

    __doc__ = f"{__doc__}\n{_Estimator.__doc__}"

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:  # noqa: N803
        """Train on R molecules and labels, (R,) or (R, T), NaN for a missing one; return the estimator.

        `sample_weight`, (R,): how much each molecule counts in the training loss; None: all the same.
        """
        smiles, labels = one_column(X), np.asarray(y, np.float64)
        check_consistent_length(smiles, labels)
        if labels.ndim not in (1, 2):
            raise InputError(f"y has shape {labels.shape}; accepted: (rows,) or (rows, targets)")
        columns = labels[:, None] if labels.ndim == 1 else labels
        if np.isinf(columns).any():
            raise InputError("y has infinite values; accepted: numbers, or NaN for a missing label")
        self.n_outputs_ = columns.shape[1]
        self._one_dimensional = labels.ndim == 1
        self._fit(smiles, {f"y{t}": columns[:, t] for t in range(columns.shape[1])}, "regression", sample_weight)
        return self

    def predict(self, X: Any) -> Array:  # noqa: N803
        """Return the predictions, of the shape of the labels; NaN, with a warning, for what cannot be read."""
        values = self._predict(X)
        return values[:, 0] if self._one_dimensional else values


class GRPEClassifier(ClassifierMixin, _Estimator):
    """A graph transformer that predicts classes of molecules; takes SMILES.

    Attributes
    ----------
    predictor_ : RunPredictor
        The trained model.
    classes_ : numpy.ndarray
        The classes, sorted, of the type of the labels.
    n_features_in_ : int
        1, the column of SMILES.
    """

    __doc__ = f"{__doc__}\n{_Estimator.__doc__}"

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:  # noqa: N803
        """Train on R molecules and their classes, (R,): numbers or texts; return the estimator.

        `sample_weight`, (R,): how much each molecule counts in the training loss; None: all the same.
        """
        smiles, labels = one_column(X), np.asarray(y)
        check_consistent_length(smiles, labels)
        if labels.ndim == 2 and labels.shape[1] == 1:
            labels = labels[:, 0]
        if labels.ndim != 1:
            raise InputError(f"y has shape {labels.shape}; accepted: (rows,), one class for each")
        check_classification_targets(labels)
        self.classes_ = unique_labels(labels)
        if len(self.classes_) < 2:
            raise InputError(f"y has {len(self.classes_)} class; accepted: 2 or more")
        codes = np.searchsorted(self.classes_, labels)
        # Named, so that two classes are a yes/no target with the second as yes, and more are classes in this order.
        names = [f"class {code:06d}" if len(self.classes_) > 2 else code for code in codes]
        self._fit(smiles, {"y": names}, "classification", sample_weight, codes)
        return self

    def predict_proba(self, X: Any) -> Array:  # noqa: N803
        """Return the probability of each class, (R, classes), in the order of `classes_`."""
        values = self._predict(X)
        return values if len(self.classes_) > 2 else np.column_stack([1 - values[:, 0], values[:, 0]])

    def predict(self, X: Any) -> Array:  # noqa: N803
        """Return the most likely class of each molecule, (R,); one that cannot be read is an error, as it has none."""
        probabilities = self.predict_proba(X)
        unread = np.flatnonzero(np.isnan(probabilities).any(1))
        if len(unread):
            raise InputError(
                f"molecule {unread[0]} cannot be read, so it has no class; accepted: SMILES that can be read, and "
                "predict_proba for a row of NaN"
            )
        return self.classes_[probabilities.argmax(1)]


def one_column(X: Any) -> list[str | None]:  # noqa: N803
    """Return the SMILES of what scikit-learn passes: a list, an array, a Series, or one column of a table or array."""
    if hasattr(X, "iloc") and getattr(X, "ndim", 1) == 2:
        if X.shape[1] != 1:
            raise InputError(f"X has {X.shape[1]} columns; accepted: one, of SMILES")
        X = X.iloc[:, 0]
    if isinstance(X, list | tuple) and X and isinstance(X[0], list | tuple | np.ndarray):
        X = np.asarray(X, dtype=object)
    if isinstance(X, np.ndarray) and X.ndim == 2:
        if X.shape[1] != 1:
            raise InputError(f"X has {X.shape[1]} columns; accepted: one, of SMILES")
        X = X[:, 0]
    return smiles_of(X)


def _weights(given: Any, rows: int) -> Array | None:
    """Return the weights of the rows, (R,), checked."""
    if given is None:
        return None
    weights = np.asarray(given, np.float64)
    if weights.shape != (rows,):
        raise InputError(f"sample_weight has shape {weights.shape}; accepted: ({rows},), one for each molecule")
    if not np.isfinite(weights).all() or (weights < 0).any() or not weights.any():
        raise InputError("sample_weight has negative or infinite values, or only 0; accepted: numbers of 0 or more")
    return weights


def _validation_rows(groups: Array, fraction: float, random: Any) -> npt.NDArray[np.bool_]:
    """Return which rows select the epoch: a share of every group, at least one of two rows or more."""
    chosen = np.zeros(len(groups), np.bool_)
    for group in np.unique(groups) if fraction > 0 else ():
        rows = np.flatnonzero(groups == group)
        count = min(max(1, round(fraction * len(rows))), len(rows) - 1)
        chosen[random.permutation(rows)[:count]] = True
    return chosen


def _to_bytes(member: Predictor) -> bytes:
    with tempfile.TemporaryDirectory(prefix="grpe-copy-") as folder:
        path = Path(folder) / "model.ckpt"
        member.checkpoint.save(path)
        return path.read_bytes()


def _from_bytes(content: bytes, device: str) -> Predictor:
    with tempfile.TemporaryDirectory(prefix="grpe-copy-") as folder:
        path = Path(folder) / "model.ckpt"
        path.write_bytes(io.BytesIO(content).getbuffer())
        return Predictor(load_checkpoint(path), device=device, source="a copied estimator")
