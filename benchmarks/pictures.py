"""The pictures of the README, from the run of its first command: ``python -m benchmarks.pictures runs/logp``.

They show what the commands below them write. A browser draws the two pages: Chromium, by Playwright.
"""

import argparse
import tempfile
from pathlib import Path

import grpe_dgl
from grpe_dgl.checkpoint.file import load_checkpoint
from grpe_dgl.explain.attention_figure import draw_attention
from grpe_dgl.explain.explanation import Explainer
from grpe_dgl.explain.explanation_page import explanation_page
from grpe_dgl.explain.rows import explain_rows
from grpe_dgl.explain.subjects import subject_of_smiles

MOLECULES = ("CC(=O)Oc1ccccc1C(=O)O", "CN1C=NC2=C1C(=O)N(C(=O)N2C)C", "Oc1ccccc1Cl")
WIDTH, MARGIN = 1000, 8
# From the heading of the predictions to the first row of the worst ones: top and bottom of that part.
REPORT = """() => {
  const heading = [...document.querySelectorAll("h3")].find(h => h.textContent.startsWith("Predictions for"));
  return [heading.getBoundingClientRect().top, document.querySelector(".molecule").getBoundingClientRect().bottom];
}"""
EXPLANATION = "() => [0, document.body.getBoundingClientRect().bottom]"


def photograph(page: str, part: str, out: Path, browser: str) -> None:
    """Write the part of a page whose top and bottom the script `part` returns."""
    from playwright.sync_api import sync_playwright

    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        file = Path(folder) / "page.html"
        file.write_text(page, encoding="utf-8")
        with playwright.chromium.launch(executable_path=browser, args=["--no-sandbox"]) as chromium:
            tab = chromium.new_page(viewport={"width": WIDTH, "height": 800}, color_scheme="light")
            tab.goto(file.as_uri())
            top, bottom = tab.evaluate(part)
            top = max(top - MARGIN, 0)
            clip = {"x": 0, "y": top, "width": WIDTH, "height": bottom + MARGIN - top}
            tab.screenshot(path=out, full_page=True, clip=clip)  # type: ignore[arg-type]  # a typed dictionary


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("run", type=Path, help="folder of the run: runs/logp")
    parser.add_argument("--out", type=Path, default=Path("docs/pictures"))
    parser.add_argument("--browser", default="/usr/bin/chromium")
    options = parser.parse_args()
    path = options.run / "best.ckpt"
    checkpoint = load_checkpoint(path)
    draw_attention(
        subject_of_smiles(checkpoint, MOLECULES[0], source=str(path)), options.out / "attention.png", heads=False
    )
    explainer = Explainer(checkpoint, "masking", None, source=str(path))
    rows = [row for chunk in explain_rows(explainer, iter(([text], text) for text in MOLECULES)) for row in chunk]
    title = f"{explainer.output.name}, explained by masking: {path}"
    page = explanation_page(rows, explainer, ["smiles"], title=title)
    photograph(page, EXPLANATION, options.out / "explanation.png", options.browser)
    photograph(grpe_dgl.report(options.run), REPORT, options.out / "report.png", options.browser)


if __name__ == "__main__":
    main()
