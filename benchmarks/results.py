"""Write the tables of docs/results.md from the runs summarised in docs/results: ``python -m benchmarks.results``.

``--runs FOLDER`` first copies what is small of every finished run in a folder (recipe, results and curve, neither
checkpoints nor predictions) to docs/results.
"""

import argparse
import itertools
import json
import re
import shutil
from pathlib import Path

import grpe_dgl
from grpe_dgl.recipe import load_recipe, shipped_recipes
from grpe_dgl.workflows.compare.rows import Row
from grpe_dgl.workflows.compare.tables import Table

DOCS = Path(__file__).parents[1] / "docs"
PAGE, FOLDER = DOCS / "results.md", DOCS / "results"
FILES = ("recipe.yaml", "results.json", "metrics.csv")
BLOCK = re.compile(r"(<!-- results of (\S+) -->\n).*?(<!-- end -->)", flags=re.DOTALL)


def collect(runs: Path) -> int:
    """Copy the small files of every finished run to docs/results; return how many runs there are."""
    found = sorted(path.parent for path in runs.rglob("results.json"))
    for folder in found:
        target = FOLDER / folder.relative_to(runs)
        target.mkdir(parents=True, exist_ok=True)
        for name in FILES:
            shutil.copyfile(folder / name, target / name)
        results = json.loads((folder / "results.json").read_text(encoding="utf-8"))
        results.get("data", {}).pop("folder", None)  # of one machine
        (target / "results.json").write_text(json.dumps(results, indent=2) + "\n", encoding="utf-8")
    return len(found)


def page(text: str) -> str:
    """Return the page's text with every block between marks made anew."""
    return BLOCK.sub(lambda match: match[1] + _block(match[2]) + match[3], text)


def _block(name: str) -> str:
    variants = load_recipe(name).variants if name in shipped_recipes() else {}
    missing = ", ".join(variant for variant in variants if not (FOLDER / name / variant).is_dir())
    not_run = f"Not run: {missing}.\n\n" if missing else ""
    if not (FOLDER / name).is_dir():
        return f"\nNo run is finished.\n\n{not_run}"
    comparison = grpe_dgl.compare(FOLDER / name)
    order = "\n".join(_order(table) for table in comparison.tables)
    return f"\n{comparison.to_markdown()}\n{order}\n{not_run}"


def _order(table: Table) -> str:
    """Return in words whether the models with a number in the paper stand in the paper's order."""
    rows = [row for row in table.rows if row.paper is not None and table.split in row.splits]
    if len(rows) < 2:
        return ""
    theirs = sorted(rows, key=_paper_value, reverse=table.metric.higher_is_better)
    pairs = itertools.combinations(rows, 2)
    same = sum(_paper_value(a) == _paper_value(b) or theirs.index(a) < theirs.index(b) for a, b in pairs)
    total = len(rows) * (len(rows) - 1) // 2
    ours, papers = (", ".join(row.name.split("/")[-1] for row in order) for order in (rows, theirs))
    if same == total:
        return f"The order is the paper's: {ours}.\n"
    return (
        f"The order is not the paper's: {same} of {total} pairs of models stand as there. "
        f"Here, the best first: {ours}; in the paper: {papers}.\n"
    )


def _paper_value(row: Row) -> float:
    """Return the number of the paper; of several the last, which is that of the test split where there is one."""
    assert row.paper is not None
    return float(list(row.paper.numbers.values())[-1].split()[0])


def main() -> None:
    """Update the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=Path, help="a folder of runs, RECIPE/VARIANT/seed-S, to copy the summaries from")
    runs = parser.parse_args().runs
    if runs is not None:
        print(f"{collect(runs)} finished runs in {runs}")
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
