"""The page of a graph's attention: maps with values under the pointer, and the molecule for every layer."""

import base64
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from grpe_dgl.explain.attention_figure import Subject
from grpe_dgl.explain.drawing import NUMBERED, amount_colour, atom_amounts, css, draw_molecule
from grpe_dgl.explain.page import page
from grpe_dgl.html_page import text
from grpe_dgl.io.atomic_file import atomic_file

Array = npt.NDArray[Any]


def write_attention_page(subject: Subject, path: Path, *, note: str, heads: bool, replace: bool = True) -> None:
    """Write the page.

    Parameters
    ----------
    subject
        The graph.
    path
        The file.
    note
        A line about the model.
    heads
        Whether every head has a map besides the mean.
    replace
        Whether an existing file is replaced.
    """
    with atomic_file(path, replace=replace) as temporary:
        temporary.write_text(attention_page(subject, note=note, heads=heads), encoding="utf-8")


def attention_page(subject: Subject, *, note: str, heads: bool) -> str:
    """Return the page as HTML; see `write_attention_page`."""
    maps = subject.maps
    layers = []
    for number, weights in enumerate(maps.layers):
        shown = [("mean of heads", weights.mean(0))]
        shown += [(f"head {head + 1}", weights[head]) for head in range(len(weights))] if heads else []
        layers.append({"name": f"layer {number + 1}", "maps": [_packed(name, values) for name, values in shown]})
    adjacency = maps.adjacency.astype(np.float32)
    adjacency[: maps.virtual] = adjacency[:, : maps.virtual] = 0.5
    data = {
        "labels": subject.labels,
        "virtual": maps.virtual,
        "distance": base64.b64encode(np.ascontiguousarray(maps.distance, np.uint8).tobytes()).decode(),
        "adjacency": _packed("adjacency", adjacency),
        "layers": layers,
    }
    body = f"<h1>Attention: <span>{text(subject.title)}</span></h1>\n<p>{text(note)}</p>\n"
    key = "green: pairs with the virtual node; " if maps.virtual else ""
    body += (
        f'<p class="note">Row = query, column = key; every map from 0 (dark) to its own largest weight (yellow). '
        f"Adjacency: yellow where there is an edge; {key}point at a map for its values.</p>\n"
        f'<div class="row">{_molecules(subject)}<div id="maps" class="{_size(len(subject.labels))}"></div></div>'
        '<div id="tip" role="status"></div>'
    )
    return page(title=f"Attention: {subject.title}", body=body, style=_STYLE, data=data, script=_SCRIPT)


def _size(nodes: int) -> str:
    """Return the class of maps of this many nodes: where nodes are narrower than pixels, colours are averaged."""
    return "small" if nodes <= 40 else "medium" if nodes <= 160 else "large"


def _packed(name: str, values: Array) -> dict[str, Any]:
    """Return a map as 16-bit numbers in base 64 and what they are multiplied by."""
    most = float(values.max()) if values.size else 0.0
    numbers = np.round(values / (most or 1.0) * 65535).astype("<u2")
    return {"name": name, "most": most, "size": len(values), "values": base64.b64encode(numbers.tobytes()).decode()}


def _molecules(subject: Subject) -> str:
    """Return the molecule coloured by the mean of all layers and by each layer, and the control that chooses."""
    if subject.molecule is None:
        return ""
    each = subject.maps.to_nodes()
    choices = [("mean of all layers", each.mean(0))]
    choices += [(f"layer {number + 1}", values) for number, values in enumerate(each)]
    stops = ", ".join(css(amount_colour(step / 8)) for step in range(9))
    parts = []
    for number, (_, values) in enumerate(choices):
        most = float(values.max())
        drawing = draw_molecule(
            subject.molecule, atom_amounts(values, most), width=460, height=360, numbered=len(values) <= NUMBERED
        )
        hidden = "" if number == 0 else " hidden"
        parts.append(
            f'<figure class="molecule"{hidden}><div class="drawing">{drawing}</div><figcaption class="scale">0'
            f'<i style="background: linear-gradient(to right, {stops})"></i>{most:.3g}</figcaption></figure>'
        )
    options = "".join(f"<option>{name}</option>" for name, _ in choices)
    what = subject.received[0].upper() + subject.received[1:]
    return (
        f'<div class="card" id="molecules"><label>{text(what)}: <select id="layer">{options}</select></label>'
        f"{''.join(parts)}</div>\n"
    )


_STYLE = """
.row { align-items: flex-start; }
#molecules { max-width: min(100%, 30rem); box-sizing: border-box; }
#maps { flex: 1 1 36rem; min-width: 0; }
figure { margin: .5rem 0 0; }
.maps { display: flex; flex-wrap: wrap; gap: .8rem; margin-bottom: 1rem; }
.maps h2 { flex-basis: 100%; }
.map { margin: 0; width: min(var(--side), 100%); }
h1 span { display: block; font: 1rem/1.4 ui-monospace, monospace; max-height: 5.6rem; overflow-y: auto; }
.map canvas { display: block; width: 100%; aspect-ratio: 1; border: 1px solid var(--line); image-rendering: pixelated; }
.small { --side: 10rem; } .medium { --side: 16rem; } .large { --side: 22rem; }
.large canvas { image-rendering: auto; }
.map figcaption { font-size: .8rem; font-variant-numeric: tabular-nums; }
#tip { position: fixed; pointer-events: none; background: #111; color: #fff; padding: .25rem .5rem; border-radius: 4px;
  font-size: .85rem; display: none; white-space: pre; z-index: 2; }
"""

_SCRIPT = """
const data = JSON.parse(document.getElementById("data").textContent);
const bytes = text => Uint8Array.from(atob(text), c => c.charCodeAt(0));
const distance = bytes(data.distance), real = data.labels.length - data.virtual;
const viridis = [[68,1,84],[72,40,120],[62,74,137],[49,104,142],[38,130,142],[31,158,137],[53,183,121],[109,205,89],
  [180,222,44],[253,231,37]];
function colour(x) {
  const at = Math.min(Math.max(x, 0), 1) * (viridis.length - 1), k = Math.min(Math.floor(at), viridis.length - 2);
  return viridis[k].map((a, c) => a + (viridis[k + 1][c] - a) * (at - k));
}
const tip = document.getElementById("tip");
function between(i, j) {
  if (i < data.virtual || j < data.virtual) return "with the virtual node";
  const d = distance[(i - data.virtual) * real + j - data.virtual];
  return d === 255 ? "no path" : d === 254 ? "distance over 253" : "distance " + d;
}
function draw(map, caption, isWeight) {
  const numbers = new Uint16Array(bytes(map.values).buffer), n = map.size;
  const figure = document.createElement("figure"), canvas = document.createElement("canvas");
  figure.className = "map";
  canvas.width = canvas.height = n;
  canvas.setAttribute("role", "img");
  canvas.setAttribute("aria-label", caption);
  const context = canvas.getContext("2d"), image = context.createImageData(n, n);
  for (let p = 0; p < n * n; p++) {
    const [r, g, b] = colour(numbers[p] / 65535);
    image.data.set([r, g, b, 255], 4 * p);
  }
  context.putImageData(image, 0, 0);
  canvas.addEventListener("pointermove", event => {
    const box = canvas.getBoundingClientRect();
    const i = Math.min(Math.floor((event.clientY - box.top) / box.height * n), n - 1);
    const j = Math.min(Math.floor((event.clientX - box.left) / box.width * n), n - 1);
    if (i < 0 || j < 0) return;
    const pair = data.labels[i] + " \\u2192 " + data.labels[j] + ", " + between(i, j);
    tip.textContent = isWeight ? pair + "\\n" + (numbers[i * n + j] / 65535 * map.most).toPrecision(3) : pair;
    tip.style.display = "block";
    tip.style.left = Math.min(event.clientX + 14, innerWidth - tip.offsetWidth - 8) + "px";
    tip.style.top = event.clientY + 14 + "px";
  });
  canvas.addEventListener("pointerleave", () => { tip.style.display = "none"; });
  const text = document.createElement("figcaption");
  text.textContent = isWeight ? caption + ", max " + map.most.toPrecision(2) : caption;
  figure.append(canvas, text);
  return figure;
}
const place = document.getElementById("maps");
function row(title) {
  const line = document.createElement("div");
  line.className = "maps";
  if (title) { const head = document.createElement("h2"); head.textContent = title; line.append(head); }
  place.append(line);
  return line;
}
const single = data.layers.every(layer => layer.maps.length === 1), first = row("");
first.append(draw(data.adjacency, "adjacency", false));
for (const layer of data.layers) {
  if (single) first.append(draw(layer.maps[0], layer.name, true));
  else { const line = row(layer.name); for (const map of layer.maps) line.append(draw(map, map.name, true)); }
}
const choice = document.getElementById("layer");
if (choice) choice.addEventListener("change", () => {
  document.querySelectorAll(".molecule").forEach((figure, k) => { figure.hidden = k !== choice.selectedIndex; });
});
"""
