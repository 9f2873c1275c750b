"""The documentation site: built without warnings, complete, and fetching nothing."""

import html.parser
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("mkdocs", reason="the site needs the extra dev")

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder)]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
    assert (done.stdout, done.stderr) == ("", "")
    return folder


class Fetched(html.parser.HTMLParser):
    """Collects what a browser fetches to show a page, and where its links lead."""

    def __init__(self):
        super().__init__()
        self.fetched, self.links = [], []

    def handle_starttag(self, tag, attributes):
        values = dict(attributes)
        if tag in ("img", "script", "iframe", "source", "video", "audio") and values.get("src"):
            self.fetched.append(values["src"])
        if tag == "link" and not {"canonical", "alternate"} & set(values.get("rel", "").split()):
            self.fetched.append(values["href"])
        if tag == "a" and values.get("href"):
            self.links.append(values["href"])


@pytest.mark.slow
def test_every_page_is_there_and_fetches_only_files_of_the_site(site):
    sources = {path.stem for path in ROOT.glob("docs/*.md")} | {"index", "CONTRIBUTING", "CHANGELOG"}
    pages = {page.stem: page for page in site.glob("*.html")}
    assert sources <= set(pages)
    start = pages["index"].read_text()
    for name, page in pages.items():
        parser = Fetched()
        parser.feed(page.read_text())
        assert [address for address in parser.fetched if re.match(r"(https?:)?//", address)] == [], name
        if name in sources:
            assert f'href="{name}.html"' in start or name == "index", f"{name} is not in the navigation"
            for address in [*parser.fetched, *parser.links]:
                path = address.partition("#")[0].partition("?")[0]
                assert re.match(r"https?:|#|$", address) or (page.parent / path).exists(), (name, address)
    for style in site.rglob("*.css"):
        assert not re.search(r"url\(['\"]?(https?:)?//", style.read_text()), style


@pytest.mark.slow
def test_the_api_comes_from_the_docstrings(site):
    page = (site / "api.html").read_text()
    assert 'id="grpe_dgl.nn.GRPELayer"' in page and 'id="grpe_dgl.data.write"' in page
    assert ":::" not in page  # a directive that was not understood stays in the text
