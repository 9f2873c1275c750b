"""Open pages in the system's Chromium."""

import shutil

import pytest

ARGUMENTS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
)  # fmt: skip


def executable():
    """Return the path of the browser; skip the test where there is none."""
    pytest.importorskip("playwright.sync_api", reason="the package playwright is not installed")
    for name in ("chromium", "chromium-browser", "google-chrome"):
        if found := shutil.which(name):
            return found
    pytest.skip("no Chromium is installed (Debian's package chromium)")


class Opened:
    """A page with everything it printed to the console and requested."""

    def __init__(self, page, path):
        self.page, self.messages, self.requests = page, [], []
        page.on("console", lambda message: self.messages.append(message.text))
        page.on("pageerror", lambda error: self.messages.append(str(error)))
        page.on("request", lambda request: self.requests.append(request.url))
        self.url = path.resolve().as_uri()
        page.goto(self.url)

    @property
    def outside(self):
        """What was requested besides the page itself and images inside it."""
        return [url for url in self.requests if url != self.url and not url.startswith("data:")]


CONTRASTS = """() => {
  const channel = (c) => { c /= 255; return c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4; };
  const parse = (text) => { const n = text.match(/[\\d.]+/g).map(Number); return n.length < 4 ? [...n, 1] : n; };
  const over = (top, below) => [0, 1, 2].map((i) => top[i] * top[3] + below[i] * (1 - top[3])).concat(1);
  const light = (c) => 0.2126 * channel(c[0]) + 0.7152 * channel(c[1]) + 0.0722 * channel(c[2]);
  const background = (node) => {
    const layers = [];
    for (let n = node; n; n = n.parentElement) layers.push(parse(getComputedStyle(n).backgroundColor));
    return layers.reverse().reduce((below, top) => over(top, below), [255, 255, 255, 1]);
  };
  const found = [];
  for (const node of document.querySelectorAll("h1,h2,h3,h4,p,th,td,a,b,span,li,code,label,output,footer,text")) {
    if (!node.textContent.trim() || node.getClientRects().length === 0) continue;
    const style = getComputedStyle(node), below = background(node);
    const colour = over(parse(node instanceof SVGElement ? style.fill : style.color), below);
    const [a, b] = [light(colour), light(below)].sort((x, y) => y - x);
    found.push([(a + 0.05) / (b + 0.05), node.textContent.slice(0, 40)]);
  }
  return found;
}"""
"""The contrast of every text with what is behind it, as WCAG computes it."""
