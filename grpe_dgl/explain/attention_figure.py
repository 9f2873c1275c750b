"""The paper's figure of attention: adjacency, then a map for every layer, and the molecule beside them."""

import io
import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy.typing as npt

from grpe_dgl.explain.drawing import NUMBERED, amount_colour, atom_amounts, draw_molecule, draw_molecule_png
from grpe_dgl.explain.maps import AttentionMaps
from grpe_dgl.explain.summary import AttentionSummary
from grpe_dgl.io.atomic_file import atomic_file

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Array = npt.NDArray[Any]
LABELLED = 40  # the largest graph whose rows are labelled
_COLUMNS = 6
_SIDE = 1.75  # inches of a map
_BESIDE_MOLECULE = 5.4  # inches of a molecule above its adjacency
_LEFT = 3.4  # inches of the column of molecule and adjacency
_WIDEST = 13.0  # inches that maps may take beside it, unless they would become too small
_CHARACTERS = 11  # of a title, per inch


@dataclass(frozen=True)
class Subject:
    """One graph whose attention is shown."""

    title: str
    maps: AttentionMaps
    molecule: Any | None = None
    """The RDKit molecule whose atom i is real node i; None for other graphs."""

    @property
    def labels(self) -> list[str]:
        """The names of all nodes, virtual ones first."""
        virtual, real = self.maps.virtual, len(self.maps.distance)
        names = ["VN"] if virtual == 1 else [f"VN{number}" for number in range(virtual)]
        if self.molecule is None:
            return names + [str(node) for node in range(real)]
        return names + [f"{atom.GetSymbol()}{atom.GetIdx()}" for atom in self.molecule.GetAtoms()]

    @property
    def received(self) -> str:
        """What colours the molecule's atoms, in words."""
        if self.maps.virtual:
            return "attention of the virtual node to each atom"
        return "attention to each atom, mean over all atoms"


def draw_attention(subject: Subject, path: Path, *, heads: bool, replace: bool = True) -> None:
    """Draw the figure into a .png or .svg file; with `heads` every head's map instead of their mean."""
    figure, molecule_axes = _attention_figure(subject, heads)
    with atomic_file(path, replace=replace) as temporary:
        if path.suffix.lower() == ".svg":
            temporary.write_text(_svg(figure, subject, molecule_axes), encoding="utf-8")
        else:
            if molecule_axes is not None:
                from matplotlib.image import imread

                drawing = draw_molecule_png(subject.molecule, _colours(subject), numbered=_numbered(subject))
                molecule_axes.imshow(imread(io.BytesIO(drawing), format="png"))
            figure.savefig(temporary, format="png", dpi=150)


def draw_summary(summary: AttentionSummary, title: str, path: Path, *, replace: bool = True) -> None:
    """Draw the share of every kind of key in every layer into a .png or .svg file."""
    kinds = [kind for kind, pairs in zip(summary.kinds, summary.pairs, strict=True) if pairs]
    share = summary.share[:, summary.pairs > 0]
    figure = _figure(7.5, 1.6 + 0.32 * len(share))
    axes = figure.subplots()
    image = axes.imshow(share, cmap="viridis", vmin=0, aspect="auto")
    axes.set_xticks(range(len(kinds)), [kind.replace(" ", "\n", 1) for kind in kinds], fontsize=8)
    axes.set_yticks(range(len(share)), [str(layer + 1) for layer in range(len(share))])
    axes.set_ylabel("layer")
    threshold = share.max() * 0.6
    for layer, row in enumerate(share):
        for kind, value in enumerate(row):
            colour = "black" if value > threshold else "white"
            axes.text(kind, layer, f"{value:.3f}", ha="center", va="center", fontsize=7, color=colour)
    axes.set_title(plain(title), fontsize=9, loc="left")
    figure.colorbar(image, ax=axes, label="part of a node's attention")
    with atomic_file(path, replace=replace) as temporary:
        figure.savefig(temporary, format=path.suffix[1:].lower(), dpi=150)


def plain(text: str) -> str:
    """Return a text that matplotlib draws as it is: no formula between dollar signs, no control characters."""
    return "".join(c if c.isprintable() else " " for c in text).replace("$", r"\$")


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}\N{HORIZONTAL ELLIPSIS}"


def _figure(width: float, height: float) -> "Figure":
    # Here for start-up time: nothing else of this module needs matplotlib.
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def _attention_figure(subject: Subject, heads: bool) -> tuple["Figure", "Axes | None"]:
    """Return the figure, and the axes that are left empty for the molecule."""
    maps = subject.maps
    if heads:
        columns = max(len(weights) for weights in maps.layers)
        rows = len(maps.layers)
        side = min(max(1.25, _WIDEST / columns), max(1.25, _BESIDE_MOLECULE / rows - 0.25))
        panels = [[f"head {head + 1}" for head in range(len(weights))] for weights in maps.layers]
        values = [list(weights) for weights in maps.layers]
    else:
        # Beside a molecule above its adjacency there is room for two rows and more.
        rows = math.ceil(len(maps.layers) / _COLUMNS)
        rows = max(rows, 2) if subject.molecule is not None and len(maps.layers) > 1 else rows
        columns = math.ceil(len(maps.layers) / rows)
        side = max(_SIDE, (_BESIDE_MOLECULE - 0.25 * rows) / rows if subject.molecule is not None else 0.0)
        if rows == 1:
            side = max(side, min(_LEFT - 0.5, _WIDEST / columns))
        mean = maps.mean
        order = [range(r * columns, min((r + 1) * columns, len(mean))) for r in range(rows)]
        panels = [[f"layer {layer + 1}" for layer in row] for row in order]
        values = [[mean[layer] for layer in row] for row in order]
    width = _LEFT + columns * side + 0.5
    figure = _figure(width, max(rows * (side + 0.25), _BESIDE_MOLECULE if subject.molecule is not None else 3.2) + 0.4)
    figure.suptitle(plain(_cut(subject.title, int(width * _CHARACTERS))), fontsize=9)
    parts: Any = figure.subfigures(1, 2, width_ratios=[_LEFT, width - _LEFT])
    begin, rest = parts
    molecule_axes = None
    if subject.molecule is not None:
        molecule_axes, adjacency_axes = begin.subplots(2, 1)
        molecule_axes.set_axis_off()
        _colour_bar(begin, molecule_axes, subject)
    else:
        adjacency_axes = begin.subplots()
    _draw_adjacency(adjacency_axes, subject)
    grid = rest.subplots(rows, columns, squeeze=False)
    image = None
    for layer, (axes_row, title_row, value_row) in enumerate(zip(grid, panels, values, strict=True)):
        for axes in axes_row:
            axes.set_axis_off()
        for axes, title, value in zip(axes_row, title_row, value_row, strict=False):
            axes.set_axis_on()
            image = axes.imshow(value / max(float(value.max()), 1e-12), cmap="viridis", vmin=0, vmax=1)
            axes.set_title(f"{title}, max {value.max():.2g}", fontsize=7, pad=3)
            axes.set_xticks([])
            axes.set_yticks([])
        if heads:
            axes_row[0].set_ylabel(f"layer {layer + 1}", fontsize=8)
    bar = rest.colorbar(image, ax=grid, shrink=0.5, aspect=30, pad=0.01)
    bar.set_ticks([0, 1], labels=["0", "max"])
    bar.ax.tick_params(labelsize=7)
    bar.set_label("attention weight, row = query, column = key", fontsize=7)
    return figure, molecule_axes


def _draw_adjacency(axes: "Axes", subject: Subject) -> None:
    maps = subject.maps
    shown = maps.adjacency.astype(float)
    shown[: maps.virtual] = shown[:, : maps.virtual] = 0.5
    axes.imshow(shown, cmap="viridis", vmin=0, vmax=1)
    note = " (green: virtual node)" if maps.virtual else ""
    axes.set_title(f"adjacency{note}", fontsize=8, pad=3)
    labels = subject.labels
    if len(labels) <= LABELLED:
        size = min(7.0, 170 / len(labels))
        axes.set_yticks(range(len(labels)), labels, fontsize=size)
        axes.set_xticks(range(len(labels)), labels, fontsize=size, rotation=90)
        axes.tick_params(length=0)
    else:
        step = 10 * math.ceil(len(labels) / 80)  # eight numbers or fewer
        nodes = range(0, len(labels) - maps.virtual, step)
        for set_ticks in (axes.set_xticks, axes.set_yticks):  # numbers of nodes, which come after the virtual ones
            set_ticks([maps.virtual + node for node in nodes], [str(node) for node in nodes], fontsize=7)


def _colour_bar(figure: Any, axes: "Axes", subject: Subject) -> None:
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import ListedColormap, Normalize

    colours = ListedColormap([amount_colour(step / 255) for step in range(256)])
    most = float(subject.maps.to_nodes().mean(0).max())
    bar = figure.colorbar(
        ScalarMappable(Normalize(0, most or 1.0), colours), ax=axes, orientation="horizontal", pad=0.0, aspect=25
    )
    bar.ax.tick_params(labelsize=7)
    bar.set_label(f"{subject.received}, mean of layers", fontsize=7)


def _colours(subject: Subject) -> dict[int, tuple[float, float, float]]:
    values = subject.maps.to_nodes().mean(0)
    return atom_amounts(values, float(values.max()))


def _numbered(subject: Subject) -> bool:
    return len(subject.maps.distance) <= NUMBERED


def _svg(figure: "Figure", subject: Subject, axes: "Axes | None") -> str:
    """Return the figure as SVG, with the molecule's own SVG where its axes are."""
    stream = io.StringIO()
    figure.savefig(stream, format="svg", metadata={"Date": None})
    text = stream.getvalue()
    if axes is None:
        return text
    box = axes.get_window_extent().transformed(figure.dpi_scale_trans.inverted())  # inches
    x, y, width, height = (72 * v for v in (box.x0, figure.get_figheight() - box.y1, box.width, box.height))
    size = (round(width * 1.4), round(height * 1.4))
    drawing = draw_molecule(
        subject.molecule, _colours(subject), width=size[0], height=size[1], numbered=_numbered(subject)
    )
    own = f"width='{size[0]}px' height='{size[1]}px'"
    placed = drawing.replace(own, f"x='{x:.1f}' y='{y:.1f}' width='{width:.1f}' height='{height:.1f}'", 1)
    end = text.rindex("</svg>")
    return text[:end] + placed + "\n" + text[end:]
