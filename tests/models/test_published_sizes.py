"""The full sizes have exactly the parameters that the published codes build."""

import pytest
import torch

from grpe_dgl.checkpoint.build import build_model
from grpe_dgl.families import settings_class
from grpe_dgl.schema import Task, known_schema

DELTA = {"mean_log_degree": 1.1}
COUNTS = [
    ("gcn", "zinc", {"preset": "500k"}, 505_079),
    ("gcn", "cluster", {"preset": "500k"}, 501_687),
    ("gcn", "pattern", {"preset": "500k"}, 500_823),
    ("gat", "zinc", {"preset": "500k"}, 534_161),
    ("gat", "cluster", {"preset": "500k"}, 530_690),
    ("gat", "pattern", {"preset": "500k"}, 529_806),
    ("gin", "zinc", {"preset": "500k"}, 509_549),
    ("gin", "cluster", {"preset": "500k"}, 517_570),
    ("gin", "pattern", {"preset": "500k"}, 508_574),
    ("gatedgcn", "zinc", {"preset": "500k", "edges": False}, 504_153),
    ("gatedgcn", "cluster", {"preset": "500k", "edges": False}, 502_615),
    ("gatedgcn", "pattern", {"preset": "500k", "edges": False}, 502_223),
    ("gatedgcn", "zinc", {"preset": "500k"}, 504_309),
    ("gatedgcn", "zinc", {"preset": "500k", "encoding": "laplacian:8"}, 505_011),
    ("gatedgcn", "cluster", {"preset": "500k", "edges": False, "encoding": "laplacian:20"}, 504_253),
    ("gatedgcn", "cluster", {"preset": "500k", "edges": False, "encoding": "laplacian:10"}, 503_473),
    ("gatedgcn", "pattern", {"preset": "500k", "edges": False, "encoding": "laplacian:2"}, 502_457),
    ("gatedgcn", "pattern", {"preset": "500k", "edges": False, "encoding": "laplacian:40"}, 505_421),
    ("pna", "zinc", {"preset": "zinc", **DELTA}, 369_235),
    ("pna", "molhiv", {"preset": "molhiv", **DELTA}, 326_161),
    ("mpnn", "zinc", {"preset": "zinc"}, 438_565),
    ("ogb_gin", "molhiv", {"preset": "published"}, 1_885_506),
    ("ogb_gin", "molhiv", {"preset": "published", "virtual_node": True}, 3_336_606),
    ("ogb_gcn", "molhiv", {"preset": "published"}, 528_001),
    ("ogb_gcn", "molhiv", {"preset": "published", "virtual_node": True}, 1_979_101),
    ("ogb_gin", "molpcba", {"preset": "published", "virtual_node": True}, 3_374_833),
    ("ogb_gcn", "molpcba", {"preset": "published", "virtual_node": True}, 2_017_328),
]
TASKS = {
    "zinc": ("zinc", "graph", 1),
    "cluster": ("cluster", "node", 6),
    "pattern": ("pattern", "node", 2),
    "molhiv": ("ogb", "graph", 1),
    "molpcba": ("ogb", "graph", 128),
}


@pytest.mark.parametrize(("family", "dataset", "given", "count"), COUNTS)
def test_counts_are_the_published_codes(family, dataset, given, count):
    vocabulary, level, outputs = TASKS[dataset]
    task = Task(level=level, kind="binary", targets=tuple(map(str, range(outputs))), metric="rocauc")
    schema = known_schema(vocabulary, name=dataset, task=task)
    kind = settings_class(family)
    keys = dict(given)
    settings = kind(**{**kind.PRESETS[keys.pop("preset")], **keys})
    with torch.device("meta"):
        model = build_model(settings, schema)
    assert sum(parameter.numel() for parameter in model.parameters()) == count
    assert settings.count_parameters(schema) == count
