"""Hooks of the documentation site: files of the root become pages, and pages without a place in the menu get one."""

import re
from pathlib import Path, PurePosixPath
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).parent
FROM_ROOT = {"README.md": "index.md", "CONTRIBUTING.md": "CONTRIBUTING.md", "CHANGELOG.md": "CHANGELOG.md"}
"""Files of the project's root and their names in the site."""
LINK = re.compile(r"(!?)\[([^\]]*)\]\((?!https?:|#)([^)#\s]+)(#[^)\s]*)?\)")


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Add the pages that the navigation does not name, so that a new page is never missing."""
    assert config.nav is not None
    known = set(re.findall(r"[\w/]+\.md", repr(config.nav)))
    pages = sorted(path.relative_to(config.docs_dir).as_posix() for path in Path(config.docs_dir).rglob("*.md"))
    others = [page for page in pages if page not in known]
    if others:
        config.nav.append({"More": others})
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages that lie outside of the folder docs."""
    for name, page in FROM_ROOT.items():
        files.append(File.generated(config, page, content=(ROOT / name).read_text(encoding="utf-8")))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, **_: Any) -> str:
    """Let links point to pages of the site; those to code, which is not part of it, become their text."""
    folder = "." if page.file.src_uri in FROM_ROOT.values() else "docs"

    def link(match: re.Match[str]) -> str:
        picture, text, target, anchor = match.groups()
        path = _normal(f"{folder}/{target}")
        if path.startswith("docs/"):
            return f"{picture}[{text}]({path.removeprefix('docs/')}{anchor or ''})"
        return f"[{text}]({FROM_ROOT[path]}{anchor or ''})" if path in FROM_ROOT else text

    parts = re.split(r"(```.*?```)", markdown, flags=re.S)
    # As shell: the highlighting of consoles takes lines without a prompt for output.
    return "".join(
        part.replace("```console", "```bash", 1) if part.startswith("```") else LINK.sub(link, part) for part in parts
    )


def _normal(path: str) -> str:
    """Return a path without ``.`` and ``..``."""
    parts: list[str] = []
    for part in PurePosixPath(path).parts:
        if part == "..":
            parts.pop()
        else:
            parts.append(part)
    return "/".join(parts)
