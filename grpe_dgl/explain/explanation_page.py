"""A page of explanations: every molecule drawn with its atoms and bonds coloured by their contributions."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from grpe_dgl.explain.drawing import Colour, css, draw_molecule, signed_colour
from grpe_dgl.explain.explanation import Explainer, Explanation
from grpe_dgl.explain.page import page
from grpe_dgl.explain.rows import ExplainedRow
from grpe_dgl.html_page import text
from grpe_dgl.io.atomic_file import atomic_file

Array = npt.NDArray[Any]
_QUANTILE = 0.99  # of absolute contributions: where the colours end, so that one outlier does not whiten all others
_METHODS = {
    "masking": "Contribution of an atom or bond: the prediction minus that of the molecule without it. "
    "Contributions do not sum to the prediction.",
    "gradient": "Contribution of an atom: integrated gradients from the molecule with all atoms alike (the baseline) "
    "to the molecule. Contributions sum to the prediction minus the baseline.",
}


def write_explanation_page(
    rows: Sequence[ExplainedRow],
    explainer: Explainer,
    columns: Sequence[str],
    path: Path,
    *,
    title: str,
    replace: bool = True,
) -> None:
    """Write the page of some rows, of which `columns` are the names of the cells; `title` names model and input."""
    with atomic_file(path, replace=replace) as temporary:
        temporary.write_text(explanation_page(rows, explainer, columns, title=title), encoding="utf-8")


def explanation_page(rows: Sequence[ExplainedRow], explainer: Explainer, columns: Sequence[str], *, title: str) -> str:
    """Return the page as HTML."""
    most = _largest([row.explanation for row in rows if row.explanation is not None])
    stops = ", ".join(css(signed_colour(step / 6 - 1)) for step in range(13))
    unit = text(explainer.output.unit)
    legend = (
        f'<div class="card legend"><div class="scale">&minus;{most:.3g}<i style="background: '
        f'linear-gradient(to right, {stops})"></i>+{most:.3g}</div><div>blue lowers, orange raises the prediction; '
        f"{unit}; numbers beyond the scale have its last colour</div></div>"
    )
    cards = "\n".join(_card(row, explainer, columns, most) for row in rows)
    method = " ".join(part for part in (_METHODS[explainer.method], explainer.note) if part)
    body = f'<h1>{text(title)}</h1>\n<p>{text(method)}</p>\n{legend}\n<div class="cards">{cards}</div>'
    return page(title=title, body=body, style=_STYLE)


def _largest(explanations: Sequence[Explanation]) -> float:
    """Return the contribution at which the colours end."""
    parts: list[Array] = [part for one in explanations for part in (one.atoms, one.bonds)]
    values = np.abs(np.concatenate(parts)) if parts else np.zeros(0)
    values = values[np.isfinite(values)]
    return float(np.quantile(values, _QUANTILE)) or 1.0 if len(values) else 1.0


def _card(row: ExplainedRow, explainer: Explainer, columns: Sequence[str], most: float) -> str:
    named = [
        f"{text(name)}: {text(cell)}" for name, cell in zip(columns, row.cells, strict=False) if cell != row.smiles
    ]
    head = f"<h2>{text(row.smiles)}</h2>" + (f'<div class="note">{"; ".join(named)}</div>' if named else "")
    found = row.explanation
    if found is None:
        return f'<article class="card">{head}<p>no explanation: {text(row.error or "")}</p></article>'
    drawing = draw_molecule(
        found.molecule, _colours(found.atoms, most), _colours(found.bonds, most), width=300, height=240
    )
    kind = "predicted" if explainer.output.schema.task.kind == "regression" else "log-odds"
    value = f"{kind} {text(explainer.output.name)} {found.value:.4g}"
    if explainer.method == "gradient":
        value += f", baseline {found.baseline:.4g}"
    if np.isfinite(found.descriptors):
        value += f", descriptors {found.descriptors:+.4g}"
    return (
        f'<article class="card">{head}<div class="drawing">{drawing}</div><div>{value}</div>'
        f"<details><summary>numbers</summary>{_numbers(found)}</details></article>"
    )


def _colours(values: Array, most: float) -> dict[int, Colour]:
    return {place: signed_colour(float(value) / most) for place, value in enumerate(values) if np.isfinite(value)}


def _numbers(found: Explanation) -> str:
    symbols = [f"{atom.GetSymbol()}{atom.GetIdx()}" for atom in found.molecule.GetAtoms()]
    lines = [f"{name} {_shown(value)}" for name, value in zip(symbols, found.atoms, strict=True)]
    lines += [
        f"{symbols[one]}&ndash;{symbols[other]} {_shown(value)}"
        for (one, other), value in zip(found.bond_ends, found.bonds, strict=True)
        if np.isfinite(value)
    ]
    return f'<div class="numbers">{"".join(f"<span>{line}</span>" for line in lines)}</div>'


def _shown(value: float) -> str:
    return f"{value:+.3f}" if np.isfinite(value) else "none"


_STYLE = """
.legend { position: sticky; top: 0; z-index: 1; display: inline-block; margin-bottom: 1rem; }
.cards { display: grid; grid-template-columns: repeat(auto-fill, minmax(17rem, 1fr)); gap: 1rem; }
article { content-visibility: auto; contain-intrinsic-size: auto 22rem; min-width: 0; }
article h2 { font-size: .85rem; font-weight: 600; }
.legend .scale i { flex-basis: 16rem; }
.drawing svg { margin: 0 auto; }
.numbers { display: flex; flex-wrap: wrap; gap: .1rem .8rem; font-size: .8rem; font-variant-numeric: tabular-nums; }
@media print { .legend { position: static; } article { content-visibility: visible; } }
"""
