import copy

import pytest
import torch

from grpe_dgl.recipe import TrainingRecipe
from grpe_dgl.training.distributed import SINGLE, Processes
from grpe_dgl.training.state import State, Sums, make_optimizer, seed_everything

TRAINING = TrainingRecipe(batch_size=3, epochs=2, learning_rate=0.1, weight_decay=0.25)


def new_state():
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(3, 5), torch.nn.Linear(5, 2))
    return State(model, make_optimizer(model, TRAINING))


def step(state):
    state.optimizer.zero_grad()
    loss = torch.nn.functional.dropout(state.model(torch.randn(7, 3)), 0.5).square().sum()
    loss.backward()
    state.optimizer.step()
    state.update += 1
    return float(loss.detach())


def test_saved_and_loaded_continues_with_the_same_numbers(tmp_path):
    state = new_state()
    step(state)
    state.history = [{"epoch": 1, "valid_mae": None}]
    state.sums = Sums(loss=3.0, weight=2.0)
    weights = {name: tensor.clone() for name, tensor in state.model.state_dict().items()}
    torch.save(state.to_dict(SINGLE), tmp_path / "state.pt")
    expected = [step(state) for _ in range(3)]

    torch.manual_seed(99)
    again = new_state()
    again.model.load_state_dict(weights)
    again.load_dict(torch.load(tmp_path / "state.pt", weights_only=True), SINGLE)
    assert (again.update, again.history, again.sums.loss) == (1, [{"epoch": 1, "valid_mae": None}], 3.0)
    assert [step(again) for _ in range(3)] == expected


def test_random_state_of_another_number_of_processes_is_not_loaded():
    state = new_state()
    saved = {**state.to_dict(SINGLE), "random": [torch.get_rng_state()] * 2}
    torch.manual_seed(5)
    before = torch.get_rng_state()
    state.load_dict(saved, SINGLE)
    assert torch.equal(torch.get_rng_state(), before)


def test_frozen_parameters_are_not_optimised():
    state = new_state()
    state.model[0].requires_grad_(False)
    (group,) = make_optimizer(state.model, TRAINING).param_groups
    assert [tuple(parameter.shape) for parameter in group["params"]] == [(2, 5), (2,)]
    assert (group["lr"], group["weight_decay"]) == (0.1, 0.25)


@pytest.mark.parametrize("seed", [0, 1])
def test_every_process_has_its_own_random_numbers(seed):
    drawn = set()
    for rank in range(3):
        seed_everything(seed, Processes(rank=rank, world_size=3))
        drawn.add(float(torch.rand(())))
    assert len(drawn) == 3
    seed_everything(seed, SINGLE)
    first = torch.rand(())
    torch.manual_seed(seed)
    assert torch.equal(first, torch.rand(()))


@pytest.mark.parametrize(("name", "kind"), [("adamw", torch.optim.AdamW), ("adam", torch.optim.Adam)])
def test_the_recipes_optimiser_is_fused_on_the_cpu(name, kind):
    training = TrainingRecipe(batch_size=3, epochs=2, learning_rate=0.1, weight_decay=0.25, optimizer=name)
    models = [torch.nn.Linear(4, 3) for _ in range(2)]
    models[1].load_state_dict(models[0].state_dict())
    ours = make_optimizer(models[0], training)
    theirs = kind(models[1].parameters(), lr=0.1, weight_decay=0.25)
    assert type(ours) is kind and ours.param_groups[0]["fused"] is True
    for _ in range(5):
        for model, optimizer in ((models[0], ours), (models[1], theirs)):
            optimizer.zero_grad()
            model(torch.ones(2, 4)).square().sum().backward()
            optimizer.step()
    torch.testing.assert_close(models[0].weight, models[1].weight)


def test_a_state_of_an_optimiser_that_was_not_fused_continues_without():
    state, old = new_state(), new_state()
    old.optimizer = torch.optim.AdamW(old.model.parameters(), lr=0.1, weight_decay=0.25)
    step(old)
    torch.manual_seed(1)
    state.model.load_state_dict(old.model.state_dict())
    state.load_dict(copy.deepcopy(old.to_dict(SINGLE)), SINGLE)
    assert not state.optimizer.param_groups[0]["fused"]
    torch.manual_seed(2)
    expected = [step(old) for _ in range(3)]
    torch.manual_seed(2)
    assert [step(state) for _ in range(3)] == expected
