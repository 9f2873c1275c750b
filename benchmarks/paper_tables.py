"""Write docs/tables.md, the rows of the paper's tables and our counts: ``python -m benchmarks.paper_tables``."""

import re
from pathlib import Path

from grpe_dgl.data.catalogue import schema_of
from grpe_dgl.recipe import Recipe, load_recipe, shipped_recipes

PAGE = Path(__file__).parents[1] / "docs" / "tables.md"
MARK = "<!-- python -m benchmarks.paper_tables writes what follows -->\n"


def rows(name: str) -> str:
    """Return the rows of a table's recipe as Markdown."""
    recipe = load_recipe(name)
    cells = [
        ["variant", "model", "parameters", "in the paper", "configuration", "paper"],
        ["---", "---", "---:", "---:", "---", "---"],
    ]
    notes: list[str] = []
    for variant in recipe.variants:
        cells.append(_cells(variant, recipe.variant(variant), notes))
    table = "".join(f"| {' | '.join(row)} |\n" for row in cells)
    below = "".join(f"\n[{number}] {note}\n" for number, note in enumerate(notes, 1))
    return f"## {name}\n\n{recipe.description}: `grpe train {name} --variant NAME`.\n\n{table}{below}"


def _cells(variant: str, chosen: Recipe, notes: list[str]) -> list[str]:
    count = chosen.model.count_parameters(schema_of(str(chosen.dataset)))
    paper = chosen.paper
    if paper is None:
        return [f"`{variant}`", chosen.model.NAME, f"{count:,}", "-", "-", "no row"]
    mark = ""
    if paper.differs is not None:
        if paper.differs not in notes:
            notes.append(paper.differs)
        mark = f" [{notes.index(paper.differs) + 1}]"
    printed = paper.parameters or "-"
    return [f"`{variant}`", chosen.model.NAME, f"{count:,}", printed, paper.configuration, paper.text() + mark]


def page(text: str) -> str:
    """Return the page's text with the tables made anew."""
    tables = [name for name in shipped_recipes() if re.match("table_", name)]
    return text.split(MARK)[0] + MARK + "\n" + "\n".join(rows(name) for name in tables)


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
