"""What works for every family of the registry, each with a small model of molecules."""

import numpy as np
import pytest
import torch

from grpe_dgl.checkpoint.build import build_model
from grpe_dgl.checkpoint.transfer import transfer_weights
from grpe_dgl.explain import explain
from grpe_dgl.families import FAMILIES
from grpe_dgl.inference import Predictor
from grpe_dgl.schema import known_schema
from tests import trained
from tests.models.test_message_passing_families import MODELS as MESSAGE_PASSING
from tests.models.test_molecule_families import MODELS as MOLECULES
from tests.models.test_transformers import MODELS as TRANSFORMERS

GRPE = {"name": "grpe", "layers": 2, "hidden_size": 16, "num_heads": 2, "ffn_size": 16}
MODELS = {
    **MESSAGE_PASSING,
    **MOLECULES,
    **{name: {"name": name.split("_")[0], **model} for name, model in TRANSFORMERS.items()},
    "grpe": GRPE,
}
ONE_OF_EACH = {model["name"]: {**model, "layers": 2} for model in MODELS.values()}


def test_there_is_a_model_of_every_family():
    assert set(ONE_OF_EACH) == set(FAMILIES)


@pytest.mark.parametrize("family", FAMILIES)
def test_predicts_smiles_makes_fingerprints_of_two_layers_and_explains(family):
    checkpoint = trained.checkpoint_of(ONE_OF_EACH[family])
    predictor = Predictor(checkpoint)
    together = predictor.predict(["CCO", "c1ccccc1N", "C"])
    assert together.shape == (3, 1) and np.isfinite(together).all()
    np.testing.assert_allclose(predictor.predict(["OCC"]), together[:1], rtol=1e-4, atol=1e-5)
    found = predictor.fingerprint(["CCO", "C"])
    assert found.shape == (2, checkpoint.model().fingerprint_size(2)) and np.isfinite(found).all()
    np.testing.assert_allclose(
        predictor.fingerprint(["CCO"], layers=1), found[:1, -predictor.model.fingerprint_size(1) :], atol=1e-5
    )
    (explained,) = explain(checkpoint, ["CCO"])
    assert explained.value == pytest.approx(float(together[0, 0]), rel=1e-4, abs=1e-5)
    assert np.isfinite(explained.atoms).all() and np.isfinite(explained.bonds).all()


@pytest.mark.parametrize("family", FAMILIES)
def test_everything_but_embeddings_is_transferred_to_data_of_another_vocabulary(family):
    checkpoint = trained.checkpoint_of(ONE_OF_EACH[family])
    torch.manual_seed(1)
    model = build_model(checkpoint.recipe.model, known_schema("zinc", name="zinc", task=trained.REGRESSION))
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    result = transfer_weights(checkpoint, model, checkpoint.recipe.model, "transformer")
    after = model.state_dict()
    assert result.numbers > 0
    for name, tensor in after.items():
        if model.is_embedding(name) or name.startswith(model.head_prefix):
            assert torch.equal(tensor, before[name]), name
        else:
            assert torch.equal(tensor, checkpoint.weights[name]), name
