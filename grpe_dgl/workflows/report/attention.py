"""The attention of a run's best model to the nodes of a few graphs: a map per layer, chosen by a slider."""

import base64
import io
import json
import math
from typing import Any

import numpy as np
import numpy.typing as npt

from grpe_dgl.checkpoint.file import load_checkpoint
from grpe_dgl.data.encodings.prepare import prepare_encodings
from grpe_dgl.data.molecules.arrays import molecule_of_graph
from grpe_dgl.errors import InputError
from grpe_dgl.explain.maps import attention_maps
from grpe_dgl.training.run_folder import RunFolder
from grpe_dgl.workflows.report.evidence import Evidence
from grpe_dgl.workflows.report.markup import Markup, element, void
from grpe_dgl.workflows.report.molecules import draw

SAMPLES = 3
MOST_WEIGHTS = 60_000  # of a sample, in all layers: more would make the page large
COLOUR = (38, 124, 205)  # to be seen on a light and on a dark page

Array = npt.NDArray[Any]


def attention_section(evidence: Evidence, number: int) -> Markup:
    """Return maps of the attention weights, mean over heads; empty where there are none to show.

    Parameters
    ----------
    evidence
        With the dataset: the samples are graphs of the split of its predictions.
    number
        Of the run on the page, which names the slider.
    """
    store, predictions = evidence.store, evidence.predictions
    path = RunFolder(evidence.run.folder).best
    if store is None or predictions is None or not path.exists():
        return Markup("")
    try:
        checkpoint = load_checkpoint(path)
        model = checkpoint.model()
        if not model.has_attention:
            return Markup("")
        view = checkpoint.recipe.model.view
        prepare_encodings(store, view.encodings)
        smallest = _by_size(evidence)[0][:1]
        layers = len(attention_maps(model, view, store, smallest)[0].layers) if len(smallest) else 1
        largest = math.isqrt(MOST_WEIGHTS // layers)
        graphs = _samples(evidence, largest)
        if not len(graphs):
            return element("p", f"Not drawn: no graph of the split has 2 to {largest} nodes.", class_="note")
        maps = attention_maps(model, view, store, graphs)
    except (InputError, OSError):
        return Markup("")
    figures = [_figure(evidence, int(graph), each.mean, each.virtual) for graph, each in zip(graphs, maps, strict=True)]
    name = f"layer-{number}"
    slider = element(
        "div",
        element("label", "layer", for_=name),
        void("input", type="range", min=1, max=layers, value=1, id=name),
        element("output", f"layer 1 of {layers}", for_=name),
        class_="slider",
    )
    virtual = " The first row and column are the virtual node's." if maps[0].virtual else ""
    note = (
        "Mean over heads. A row is the node that attends, a column the node it attends to; the stronger the "
        f"colour, the larger the weight, relative to the largest of the layer.{virtual}"
    )
    return element(
        "div",
        element("p", note, class_="note"),
        slider,
        element("div", *figures, class_="maps"),
        class_="attention",
    )


def _by_size(evidence: Evidence) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return the graphs of the split that have two nodes or more, the smallest first, and their sizes."""
    assert evidence.predictions is not None and evidence.sizes is not None
    graphs, first = np.unique(evidence.predictions.index, return_index=True)
    sizes = evidence.sizes[first].astype(np.int64)
    order = np.argsort(sizes, kind="stable")
    order = order[sizes[order] > 1]
    return graphs[order].astype(np.int64), sizes[order]


def _samples(evidence: Evidence, largest: int) -> npt.NDArray[np.int64]:
    """Return a few graphs of the split, spread over the sizes up to `largest` nodes."""
    graphs, sizes = _by_size(evidence)
    graphs = graphs[sizes <= largest]
    places = {round(share * (len(graphs) - 1)) for share in (0.25, 0.5, 0.75)} if len(graphs) else set()
    return graphs[sorted(places)][:SAMPLES]


def _figure(evidence: Evidence, graph: int, layers: Array, virtual: int) -> Markup:
    """Return the maps of one graph, (layers, n, n), one image each."""
    assert evidence.store is not None
    molecule = None
    if evidence.store.has_smiles:
        molecule = molecule_of_graph(evidence.store.smiles(graph), evidence.store, graph)
    names = _names(molecule, layers.shape[1], virtual)
    images = [
        void(
            "img",
            src=_image(weights),
            alt=f"attention of layer {number} in graph {graph}",
            data_layer=number,
            class_="shown" if number == 1 else None,
        )
        for number, weights in enumerate(layers, 1)
    ]
    # In thousandths, which is what the pointer shows.
    weights = [[round(1000 * float(weight)) for weight in layer.ravel()] for layer in layers]
    return element(
        "figure",
        element("h4", f"graph {graph}, {layers.shape[1] - virtual} nodes"),
        element("div", draw(molecule, numbered=True), class_="molecule") if molecule is not None else Markup(""),
        element("div", *images, class_="frame"),
        class_="map",
        data_names=json.dumps(names),
        data_weights=json.dumps(weights, separators=(",", ":")),
    )


def _names(molecule: Any, count: int, virtual: int) -> list[str]:
    """Return the name of each node: its element and number where the molecule is known."""
    names = ["virtual node"] * virtual
    if molecule is not None:
        return [*names, *(f"{atom.GetSymbol()} {atom.GetIdx()}" for atom in molecule.GetAtoms())]
    return [*names, *(f"node {node}" for node in range(count - virtual))]


def _image(weights: Array) -> str:
    """Return a map as an image of one pixel per pair: one colour, as opaque as the weight is large."""
    from matplotlib.image import imsave

    pixels = np.empty((*weights.shape, 4), np.uint8)
    pixels[..., :3] = COLOUR
    pixels[..., 3] = np.round(255 * np.clip(weights / max(float(weights.max()), 1e-9), 0, 1))
    file = io.BytesIO()
    imsave(file, pixels, format="png")
    return "data:image/png;base64," + base64.b64encode(file.getvalue()).decode()
