"""The style that pages of attention and of explanations share."""

from typing import Any

from grpe_dgl.html_page import html_page

_STYLE = """\
:root { color-scheme: light dark; --back: #fff; --text: #1a1a1a; --soft: #555; --line: #ccc; --card: #f6f6f6; }
@media screen and (prefers-color-scheme: dark) {
  :root { --back: #16181c; --text: #ececec; --soft: #b0b0b0; --line: #444; --card: #22252b; }
}
* { box-sizing: border-box; }
body { margin: 1.5rem auto; max-width: 78rem; padding: 0 1rem; background: var(--back); color: var(--text);
  font: 15px/1.45 system-ui, sans-serif; }
h1 { font-size: 1.3rem; overflow-wrap: anywhere; }
h2 { font-size: 1rem; margin: 0 0 .3rem; overflow-wrap: anywhere; }
p, figcaption, .note { color: var(--soft); overflow-wrap: anywhere; }
.row { display: flex; flex-wrap: wrap; gap: 1rem; align-items: flex-start; }
.card { background: var(--card); border: 1px solid var(--line); border-radius: 8px; padding: .8rem; }
.drawing { background: #fff; border-radius: 6px; }
.drawing svg { display: block; max-width: 100%; height: auto; }
.scale { display: flex; align-items: center; gap: .5rem; font-size: .85rem; font-variant-numeric: tabular-nums; }
.scale i { display: block; flex: 0 1 9rem; min-width: 0; height: .8rem; border: 1px solid var(--line); }
@media print { body { max-width: none; } .card { break-inside: avoid; } }
"""


def page(*, title: str, body: str, style: str = "", data: Any = None, script: str = "") -> str:
    """Return a page of this style with the given one added; see `grpe_dgl.html_page.html_page`."""
    return html_page(title=title, body=body, style=_STYLE + style, data=data, script=script)
