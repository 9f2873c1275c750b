"""Every shipped recipe loads, says what the paper says, builds its model and takes one step."""

import dataclasses

import dgl
import pytest
import torch
import yaml

from grpe_dgl.checkpoint.build import build_model
from grpe_dgl.data.catalogue import MOLECULES, schema_of
from grpe_dgl.objectives import METRICS
from grpe_dgl.pretrained import shipped_models
from grpe_dgl.recipe import Recipe, load_recipe, recipe_text, shipped_recipes
from grpe_dgl.schema import Schema
from grpe_dgl.training.losses import LOSS_FUNCTIONS
from grpe_dgl.transforms import AddVirtualNode, ToPairGraph
from grpe_dgl.views import Encoding

EXPECTED = """
cluster demo molhiv molhiv_distance molpcba molpcba_large pattern pattern_tiny pcqm4m pcqm4m_large pcqm4mv2
pcqm4mv2_large pretrain property zinc zinc_components zinc_cpu zinc_distance zinc_sharing zinc_short
""".split()
TINY = {"model.layers": 2, "model.hidden_size": 16, "model.ffn_size": 24, "model.num_heads": 4}
TABLES = [f"table_{name}" for name in "cluster molhiv molpcba pattern pcqm4m pcqm4mv2 zinc".split()]
ABLATIONS = [name for name in EXPECTED if load_recipe(name).variants]


@pytest.fixture(autouse=True)
def one_thread():
    """Graphs of four nodes: threads would only wait for each other."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def _schema(recipe: Recipe) -> Schema:
    return MOLECULES if recipe.dataset is None else schema_of(recipe.dataset)


def _build(recipe: Recipe):
    return build_model(recipe.model, _schema(recipe))


def _recipes() -> list[tuple[str, str | None]]:
    return [(name, variant) for name in EXPECTED for variant in [None, *load_recipe(name).variants]]


def test_all_of_them_ship():
    assert shipped_recipes() == sorted(EXPECTED + TABLES)


@pytest.mark.parametrize(("name", "variant"), _recipes())
def test_one_step(name, variant):
    recipe = load_recipe(name, TINY)
    recipe = recipe if variant is None else recipe.variant(variant)
    schema = _schema(recipe)
    recipe = recipe.fit_to_task(schema.task)
    model = _build(recipe)
    assert sum(p.numel() for p in model.parameters()) == recipe.model.count_parameters(_schema(recipe))

    torch.manual_seed(0)
    graph = dgl.graph(([0, 1, 1, 2], [1, 0, 2, 1]), num_nodes=4)
    graph.ndata["feat"] = torch.zeros(4, schema.num_node_columns, dtype=torch.int64)
    graph.edata["feat"] = torch.zeros(4, dtype=torch.int64)
    pairs = ToPairGraph(recipe.model.max_distance, schema.num_edge_types)(AddVirtualNode()(graph))
    for name in recipe.model.view.encodings:  # descriptors, of which a graph that is no molecule has none
        encoding = Encoding.parse(name)
        pairs.ndata[f"{encoding.kind}_values"] = torch.full((pairs.num_nodes(), encoding.size), torch.nan)
    predictions = model(pairs)
    labels = torch.ones_like(predictions)
    if recipe.training.loss in ("cross_entropy", "weighted_cross_entropy"):
        labels = torch.tensor([0, 1, 1, 0])
    loss = LOSS_FUNCTIONS[recipe.training.loss](predictions, labels, None).mean
    optimiser = torch.optim.AdamW(model.parameters(), lr=recipe.training.learning_rate)
    loss.backward()
    before = [p.detach().clone() for p in model.parameters()]
    optimiser.step()
    assert predictions.shape == (1 if schema.task.level == "graph" else 4, schema.task.num_outputs)
    assert torch.isfinite(loss) and loss > 0
    assert any(not torch.equal(a, b) for a, b in zip(before, model.parameters(), strict=True))
    assert recipe.training.metric in METRICS


@pytest.mark.parametrize("name", EXPECTED + TABLES)
def test_round_trip_and_comment(name):
    recipe = load_recipe(name)
    assert Recipe.from_dict(yaml.safe_load(recipe.to_yaml())) == recipe
    comment = recipe_text(name).split("description:")[0].lower()
    assert comment.startswith("# ") and "paper" in comment


@pytest.mark.parametrize(
    ("name", "count"),
    [
        ("pattern_tiny", 103_874),
        ("pattern", 474_162),
        ("cluster", 474_806),
        ("zinc", 476_801),
        ("molhiv", 42_862_081),
        ("molpcba_large", 113_964_160),
    ],
)
def test_full_parameter_counts(name, count):
    recipe = load_recipe(name)
    assert recipe.model.count_parameters(_schema(recipe)) == count
    if count < 1_000_000:
        assert sum(p.numel() for p in _build(recipe).parameters()) == count


def test_the_formula_gives_the_papers_counts_with_the_authors_tables():
    """46.2M and 118.3M are the authors' code: 4,609 node rows, 8 distance rows (L = 4), 34 edge rows (30 codes + 4)."""
    for name, millions in (("pcqm4mv2", 46.2), ("pcqm4mv2_large", 118.3)):
        model = load_recipe(name, {"model.max_distance": 4}).model
        schema = dataclasses.replace(schema_of("pcqm4mv2"), node_vocabulary=(4609,), edge_columns=(31,))
        count = model.count_parameters(schema)
        assert round(count / 1e6, 1) == millions


def test_continuous_features_and_a_deeper_head():
    model = load_recipe("zinc", {**TINY, "model.head_sizes": [7, 5]}).model
    schema = dataclasses.replace(schema_of("zinc"), node_vocabulary=None, node_features=3, edge_columns=(2,))
    built = build_model(model, schema, backend="dgl")
    assert sum(p.numel() for p in built.parameters()) == model.count_parameters(schema)


def test_settings_of_the_paper_and_the_authors():
    zinc = load_recipe("zinc")
    assert (zinc.training.batch_size, zinc.training.updates, zinc.training.warmup_updates) == (256, 400_000, 40_000)
    assert (zinc.training.weight_decay, zinc.model.input_noise, zinc.training.runs) == (1e-3, 0.2, 5)
    molhiv = load_recipe("molhiv")
    assert (molhiv.training.epochs, molhiv.training.stop_after_epochs, molhiv.training.batch_size) == (100, 5, 72)
    assert (molhiv.start_from, molhiv.model.dropout, molhiv.training.clip) == ("pcqm4m", 0.0, 5.0)
    assert load_recipe("molpcba_large").start_from == "pcqm4m_large"
    for name in EXPECTED:
        recipe = load_recipe(name)
        assert recipe.model.max_distance == 5
        assert recipe.model.attention_dropout == (0.0 if name in ("demo", "pretrain") else 0.1)
        assert recipe.start_from is None or recipe.start_from in (*EXPECTED, *shipped_models())


def test_ablations():
    assert ABLATIONS == ["molhiv_distance", "zinc_components", "zinc_distance", "zinc_sharing"]
    for name, largest in (("molhiv_distance", 8), ("zinc_distance", 6)):
        distances = load_recipe(name)
        found = {variant: distances.variant(variant).model.max_distance for variant in distances.variants}
        assert found == {f"L{distance}": distance for distance in range(1, largest + 1)}
    components = load_recipe("zinc_components")
    switches = [components.variant(name).model for name in components.variants]
    assert len({(m.topology_attention, m.edge_attention, m.graph_value) for m in switches}) == 6
    zinc = load_recipe("zinc")
    assert components.variant("all").model == zinc.model == load_recipe("zinc_sharing").variant("shared").model
    assert components.training == zinc.training
