"""Self-contained HTML pages: the frame and style that pages of attention and of explanations share."""

import html
import json
from typing import Any

_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; \
script-src 'unsafe-inline'; img-src data:">
<title>{title}</title>
<style>
:root {{ color-scheme: light dark; --back: #fff; --text: #1a1a1a; --soft: #555; --line: #ccc; --card: #f6f6f6; }}
@media (prefers-color-scheme: dark) {{
  :root {{ --back: #16181c; --text: #ececec; --soft: #b0b0b0; --line: #444; --card: #22252b; }}
}}
body {{ margin: 1.5rem auto; max-width: 76rem; padding: 0 1rem; background: var(--back); color: var(--text);
  font: 15px/1.45 system-ui, sans-serif; }}
h1 {{ font-size: 1.3rem; overflow-wrap: anywhere; }}
h2 {{ font-size: 1rem; margin: 0 0 .3rem; overflow-wrap: anywhere; }}
p, figcaption, .note {{ color: var(--soft); }}
.row {{ display: flex; flex-wrap: wrap; gap: 1rem; align-items: flex-start; }}
.card {{ background: var(--card); border: 1px solid var(--line); border-radius: 8px; padding: .8rem; }}
.drawing {{ background: #fff; border-radius: 6px; }}
.drawing svg {{ display: block; max-width: 100%; height: auto; }}
.scale {{ display: flex; align-items: center; gap: .5rem; font-size: .85rem; font-variant-numeric: tabular-nums; }}
.scale i {{ display: block; width: 9rem; height: .8rem; border: 1px solid var(--line); }}
@media print {{ body {{ max-width: none; }} .card {{ break-inside: avoid; }} }}
{style}
</style>
</head>
<body>
{body}
{data}
{script}
</body>
</html>
"""


def page(*, title: str, body: str, style: str = "", data: Any = None, script: str = "") -> str:
    """Return a page that requests nothing from elsewhere.

    Parameters
    ----------
    title
        Text.
    body, style, script
        HTML, CSS and JavaScript. Texts of a user in them must have passed `text`.
    data
        What the script reads, ``JSON.parse(document.getElementById("data").textContent)``; None for none.
    """
    # "<" is escaped, so that no text in the data can end the script.
    content = "" if data is None else json.dumps(data, allow_nan=False).replace("<", "\\u003c")
    return _PAGE.format(
        title=text(title),
        style=style,
        body=body,
        data=f'<script type="application/json" id="data">{content}</script>' if content else "",
        script=f"<script>{script}</script>" if script else "",
    )


def text(value: str) -> str:
    """Return a text for HTML: characters of HTML as entities, control characters as escapes."""
    shown = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in value)
    return html.escape(shown, quote=True)
