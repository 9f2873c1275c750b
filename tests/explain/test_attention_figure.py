import re

import numpy as np
import pytest
from rdkit import Chem

from grpe_dgl.explain.attention_figure import Subject, _attention_figure
from grpe_dgl.explain.attention_page import attention_page
from grpe_dgl.explain.drawing import draw_molecule
from grpe_dgl.explain.maps import AttentionMaps


def subject(nodes, title="a graph", molecule=None, layers=2, heads=3):
    weights = np.full((heads, nodes + 1, nodes + 1), 1 / (nodes + 1), np.float32)
    distance = np.zeros((nodes, nodes), np.uint8)
    maps = AttentionMaps((weights,) * layers, np.zeros((nodes + 1, nodes + 1), np.bool_), distance, 1)
    return Subject(title, maps, molecule)


def titles(figure):
    return [axes.get_title() for axes in figure.axes if "max" in axes.get_title()]


def test_maps_are_named_by_layer_or_by_layer_and_head():
    figure, _ = _attention_figure(subject(4), heads=False)
    assert titles(figure) == ["layer 1, max 0.2", "layer 2, max 0.2"]
    figure, _ = _attention_figure(subject(4), heads=True)
    assert titles(figure) == [f"head {head}, max 0.2" for head in (1, 2, 3, 1, 2, 3)]
    labels = [axes.get_ylabel() for axes in figure.axes]
    assert [label for label in labels if label.startswith("layer")] == ["layer 1", "layer 2"]


def test_nodes_of_a_large_graph_are_numbered_without_the_virtual_node():
    figure, _ = _attention_figure(subject(100), heads=False)
    axes = next(axes for axes in figure.axes if axes.get_title().startswith("adjacency"))
    ticks = zip(axes.get_xticks(), axes.get_xticklabels(), strict=True)
    shown = [(int(place), label.get_text()) for place, label in ticks]
    assert shown == [(1, "0"), (21, "20"), (41, "40"), (61, "60"), (81, "80")]


def test_a_long_title_is_cut_to_the_width_of_the_figure():
    figure, _ = _attention_figure(subject(4, title="C" * 2000), heads=False)
    figure.canvas.draw()
    box = figure._suptitle.get_window_extent()
    assert figure._suptitle.get_text().endswith("…")
    assert box.x0 >= 0 and box.x1 <= figure.bbox.x1


@pytest.mark.parametrize(("nodes", "size"), [(20, "small"), (100, "medium"), (300, "large")])
def test_maps_of_a_page_grow_with_the_graph(nodes, size):
    page = attention_page(subject(nodes), note="", heads=False)
    assert f'<div id="maps" class="{size}">' in page


def test_one_atom_does_not_fill_the_drawing():
    drawing = draw_molecule(Chem.MolFromSmiles("C"), {0: (1.0, 0.5, 0.0)}, width=300, height=300)
    radius = float(re.search(r"<ellipse[^>]* rx='([\d.]+)'", drawing)[1])
    assert radius < 40
