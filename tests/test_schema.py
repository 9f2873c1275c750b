import dataclasses

import numpy as np
import pytest
import torch

from grpe_dgl.data.molecules.columns import bond_columns
from grpe_dgl.errors import InputError
from grpe_dgl.schema import Schema, Task, known_schema

TASK = Task(level="graph", kind="regression", targets=("a", "b"), metric="mae", standardise=True)


def test_plain_values_and_back():
    schema = known_schema("ogb", name="own", task=TASK).with_target_statistics((1.0, 2.0), (3.0, 4.0))
    assert Schema.from_dict(schema.to_dict()) == schema
    assert schema.target_scale == ((1.0, 2.0), (3.0, 4.0))
    assert (schema.num_edge_types, schema.num_node_columns) == (60, 9)


def test_a_schema_of_version_0_1_has_its_edge_columns():
    plain = known_schema("ogb", name="own", task=TASK).to_dict()
    del plain["edge_columns"]
    assert Schema.from_dict({**plain, "num_edge_types": 60}).edge_columns == (5, 6, 2)
    assert Schema.from_dict({**plain, "vocabulary": "custom", "num_edge_types": 7}).edge_columns == (7,)


def test_edges_decode_to_the_bond_columns():
    schema = known_schema("ogb", name="own", task=TASK)
    codes = np.arange(60)
    np.testing.assert_array_equal(np.stack(schema.decode_edges(codes), -1), bond_columns(codes))
    assert [column.tolist() for column in schema.decode_edges(torch.tensor([[59], [13]]))] == [
        [[4], [1]],
        [[5], [0]],
        [[1], [1]],
    ]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"node_features": 3}, "either node_vocabulary"),
        ({"edge_columns": ()}, "edge_columns is \\[\\]; accepted: at least one column"),
        ({"node_vocabulary": (3, 0)}, "node_vocabulary is \\[3, 0\\]"),
        ({"task": dataclasses.replace(TASK, level="edge")}, "'regression' per 'edge'; accepted"),
    ],
)
def test_what_does_not_fit_is_refused(change, message):
    with pytest.raises(InputError, match=message):
        dataclasses.replace(known_schema("ogb", name="own", task=TASK), **change)
