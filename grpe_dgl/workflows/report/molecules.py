"""The best and the worst predictions of a run, with their molecules drawn where the dataset has SMILES."""

from typing import Any

import numpy as np
import numpy.typing as npt
from rdkit import Chem, rdBase
from rdkit.Chem.Draw import rdMolDraw2D

from grpe_dgl.errors import InputError
from grpe_dgl.messages import significant
from grpe_dgl.workflows.report.evidence import Evidence, errors_per_graph, probabilities
from grpe_dgl.workflows.report.markup import Markup, element, join, table

EACH = 4  # of the best and of the worst
MOST_TARGETS = 4
LARGEST = 150  # atoms; larger molecules are a tangle at this size
LONGEST = 400  # characters of SMILES that are shown

Array = npt.NDArray[Any]


def extremes(evidence: Evidence) -> list[Markup]:
    """Return the best and the worst predictions of the split; nothing without predictions."""
    if evidence.predictions is None or evidence.kind is None:
        return []
    graphs, errors, what = errors_per_graph(evidence)
    finite = np.isfinite(errors)
    graphs, errors = graphs[finite], errors[finite]
    if not len(graphs):
        return []
    order = np.argsort(errors, kind="stable")
    each = min(EACH, (len(order) + 1) // 2)
    chosen = {"Worst": order[::-1][:each], "Best": order[:each]}
    parts: list[Markup] = []
    for name, places in chosen.items():
        parts.append(element("h4", f"{name} predictions, by {what}"))
        entries = [(int(graphs[i]), float(errors[i])) for i in places]
        parts.append(
            _drawn(evidence, entries, name, what) if _has_smiles(evidence) else _listed(evidence, entries, what)
        )
    return parts


def _has_smiles(evidence: Evidence) -> bool:
    return evidence.store is not None and evidence.store.has_smiles


def _drawn(evidence: Evidence, entries: list[tuple[int, float]], name: str, what: str) -> Markup:
    assert evidence.store is not None
    figures = []
    for graph, error in entries:
        try:
            smiles = evidence.store.smiles(graph)
        except (InputError, ValueError):
            smiles = ""
        shown = smiles if len(smiles) <= LONGEST else f"{smiles[:LONGEST]}... ({len(smiles)} characters)"
        figures.append(
            element(
                "figure",
                drawing(smiles) or element("p", "not drawn", class_="note"),
                *(element("p", line) for line in _lines(evidence, graph)),
                element("p", f"{what} {significant(error)}, graph {graph}", class_="note"),
                element("code", shown),
                class_=f"molecule {'good' if name == 'Best' else 'bad'}",
            )
        )
    return element("div", *figures, class_="molecules")


def _listed(evidence: Evidence, entries: list[tuple[int, float]], what: str) -> Markup:
    """Return the graphs in a table, for datasets without SMILES."""
    rows = []
    for graph, error in entries:
        nodes = ""
        if evidence.store is not None:
            nodes = str(int(evidence.store.node_offsets[graph + 1]) - int(evidence.store.node_offsets[graph]))
        rows.append([graph, nodes, join(element("div", line) for line in _lines(evidence, graph)), significant(error)])
    return table(["graph", "nodes", "prediction", what], rows)


def _lines(evidence: Evidence, graph: int) -> list[str]:
    """Return the true and the predicted value of a graph, a line for each target."""
    assert evidence.predictions is not None and evidence.task is not None
    rows = np.flatnonzero(evidence.predictions.index == graph)
    predicted, labels = evidence.predictions.predictions[rows], evidence.predictions.labels[rows]
    if evidence.task.kind == "multiclass":
        found, known = predicted.argmax(axis=1), labels >= 0
        if evidence.task.level == "node":
            return [f"{int((found == labels)[known].sum())} of {int(known.sum())} nodes correct"]
        classes = evidence.task.classes
        chance = probabilities(predicted, "multiclass")[0, found[0]]
        return [f"true {classes[labels[0]]}, predicted {classes[found[0]]} ({100 * chance:.0f} %)"]
    if evidence.task.level == "node":
        return [f"{len(rows)} nodes"]
    lines = []
    values = probabilities(predicted, "binary") if evidence.task.kind == "binary" else predicted
    for target, name in enumerate(evidence.task.targets):
        if np.isnan(labels[0, target]):
            continue
        title = f"{name}: " if len(evidence.task.targets) > 1 else ""
        if evidence.task.kind == "binary":
            names = evidence.class_names(name)
            of = f" of {names[1]}" if names != ("0", "1") else ""
            lines.append(f"{title}true {names[int(labels[0, target])]}, probability{of} {values[0, target]:.3f}")
        else:
            lines.append(f"{title}true {significant(labels[0, target])}, predicted {significant(values[0, target])}")
    more = len(lines) - MOST_TARGETS
    return lines if more <= 0 else [*lines[:MOST_TARGETS], f"and {more} more targets"]


def drawing(smiles: str) -> Markup:
    """Return the molecule of a SMILES as `draw` does; empty if RDKit cannot read it."""
    with rdBase.BlockLogs():
        molecule = Chem.MolFromSmiles(smiles) if smiles else None
    return Markup("") if molecule is None else draw(molecule)


def draw(molecule: Any, *, numbered: bool = False) -> Markup:
    """Return a molecule as SVG in the page's own colour, its atoms numbered on request; empty if it is too large."""
    if not 0 < molecule.GetNumAtoms() <= LARGEST:
        return Markup("")
    with rdBase.BlockLogs():
        drawer = rdMolDraw2D.MolDraw2DSVG(240, 180)
        options: Any = drawer.drawOptions()
        options.useBWAtomPalette()
        options.clearBackground = False
        options.addAtomIndices = numbered
        options.bondLineWidth = 1
        options.padding = 0.06
        options.fixedBondLength = 40  # at most: else the letters of a molecule of one atom fill the drawing
        try:
            rdMolDraw2D.PrepareAndDrawMolecule(drawer, molecule)
        except (RuntimeError, ValueError):
            return Markup("")
        drawer.FinishDrawing()
        svg = drawer.GetDrawingText()
    # Black becomes the colour of the text, so that a dark page shows it. What RDKit writes contains no text of a user:
    # atoms are drawn as paths.
    svg = svg[svg.index("<svg") :].replace("#000000", "currentColor")
    return Markup(svg.strip())
