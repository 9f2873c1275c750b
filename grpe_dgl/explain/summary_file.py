"""A summary of attention as a table or a picture."""

import csv
import json
from pathlib import Path

from grpe_dgl.explain.attention_figure import draw_summary
from grpe_dgl.explain.summary import AttentionSummary
from grpe_dgl.io.atomic_file import atomic_file


def write_summary(summary: AttentionSummary, path: Path, *, title: str, replace: bool = True) -> None:
    """Write a summary to a .csv, .json, .png or .svg file.

    A row of the CSV is a layer and a kind of key: ``share``, the part of a node's attention that all keys of the kind
    get, ``weight``, the mean weight of one such pair, empty where there is none, and ``pairs``, how many there are.
    """
    suffix = path.suffix.lower()
    if suffix in (".png", ".svg"):
        draw_summary(summary, title, path, replace=replace)
        return
    rows = [
        {
            "layer": layer + 1,
            "key": kind,
            "share": float(summary.share[layer, place]),
            "weight": float(summary.weight[layer, place]) if summary.pairs[place] else None,
            "pairs": int(summary.pairs[place]),
        }
        for layer in range(len(summary.share))
        for place, kind in enumerate(summary.kinds)
    ]
    with atomic_file(path, replace=replace) as temporary:
        if suffix == ".json":
            content = {"title": title, "graphs": summary.graphs, "rows": rows}
            temporary.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
            return
        with temporary.open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
            writer.writeheader()
            for row in rows:
                writer.writerow({key: f"{v:.7g}" if isinstance(v, float) else v for key, v in row.items()})
