"""Self-contained HTML pages: their head, which forbids every request, and the escaping of texts."""

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


def html_page(*, title: str, body: str, style: str, data: Any = None, script: str = "") -> str:
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
        script=f"<script>\n{script}</script>" if script else "",
    )


def text(value: object) -> str:
    """Return a text for HTML: characters of HTML as entities, control characters as escapes.

    >>> text("a < b")
    'a &lt; b'
    """
    shown = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in str(value))
    return html.escape(shown, quote=True)
