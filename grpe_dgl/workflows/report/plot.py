"""Charts as inline SVG, coloured by the page's style; a script of the page shows the values under the pointer."""

import json
import math
from collections.abc import Sequence

from grpe_dgl.workflows.report.markup import Markup, element, text

WIDTH, HEIGHT, WIDE = 440, 300, 760
LONGEST_LABEL = 44
LEFT, RIGHT, TOP, BOTTOM = 66, 14, 12, 50

Point = tuple[float, float]

_STYLES = [f"s{colour}{dash}" for dash in ("", " dash", " dot") for colour in range(8)]


def ticks(low: float, high: float, *, most: int = 6, whole: bool = False) -> list[float]:
    """Return round numbers within a range, at most `most`; whole ones on request.

    >>> ticks(0.0, 1.0)
    [0.0, 0.2, 0.4, 0.6, 0.8, 1.0]
    """
    step = (high - low) / (most - 1)
    if not step > 0 or not math.isfinite(step):
        return [low]
    power = 10.0 ** math.floor(math.log10(step))
    factors = (1, 2, 5, 10) if whole else (1, 2, 2.5, 5, 10)
    step = next(factor * power for factor in factors if factor * power >= step * (1 - 1e-9))
    step = max(step, 1.0) if whole else step
    first = math.ceil(low / step - 1e-9)
    last = math.floor(high / step + 1e-9)
    return [round(number * step, 12) for number in range(first, last + 1)]


def epoch_range(epochs: Sequence[int]) -> tuple[float, float]:
    """Return the range of an axis of epochs, also where there is only one."""
    low, high = min(epochs), max(epochs)
    return (low - 1.0, high + 1.0) if low == high else (float(low), float(high))


def styles(count: int) -> list[str]:
    """Return classes of style.css for so many lines or bars, different ones as far as there are."""
    return [_STYLES[place % len(_STYLES)] for place in range(count)]


def padded(values: Sequence[float], share: float = 0.05) -> tuple[float, float]:
    """Return the range of finite values, with some room at both ends."""
    finite = [value for value in values if math.isfinite(value)]
    if not finite:
        return 0.0, 1.0
    low, high = min(finite), max(finite)
    room = (high - low) * share or abs(high) * 0.1 or 1.0
    return low - room, high + room


class Plot:
    """A chart with two linear axes, to which marks are added in the order in which they are drawn."""

    def __init__(
        self, title: str, x: tuple[float, float], y: tuple[float, float], *, x_label: str, y_label: str,
        whole_x: bool = False, square: bool = False, wide: bool = False,
    ) -> None:  # fmt: skip
        self.title, self.x_label, self.y_label = title, x_label, y_label
        self.x, self.y, self.whole_x = x, y, whole_x
        self.width, self.height = WIDE if wide else WIDTH, HEIGHT + 60 if square else HEIGHT
        self._marks: list[str] = []
        self._tips: list[tuple[float, float, str]] = []

    def place(self, x: float, y: float) -> Point:
        """Return where a point is drawn."""
        across, up = ((v - low) / ((high - low) or 1) for v, (low, high) in ((x, self.x), (y, self.y)))
        return (
            round(LEFT + across * (self.width - LEFT - RIGHT), 1),
            round(self.height - BOTTOM - up * (self.height - TOP - BOTTOM), 1),
        )

    def line(self, points: Sequence[Point], style: str, *, dots: bool = False) -> None:
        """Draw a line through points; it is interrupted where a value is not finite."""
        path, pen = [], "M"
        for x, y in points:
            if not (math.isfinite(x) and math.isfinite(y)):
                pen = "M"
                continue
            left, top = self.place(x, y)
            path.append(f"{pen}{left:g} {top:g}")
            pen = "L"
        if path:
            self._marks.append(f'<path class="line {style}" d="{"".join(path)}"/>')
        if dots:
            self.dots(points, style)

    def dots(self, points: Sequence[Point], style: str, *, small: bool = False) -> None:
        """Draw round points; all of them are one path, which keeps the page small."""
        places = [self.place(x, y) for x, y in points if math.isfinite(x) and math.isfinite(y)]
        path = "".join(f"M{left:g} {top:g}h0" for left, top in places)
        if path:
            self._marks.append(f'<path class="dots{" small" * small} {style}" d="{path}"/>')

    def band(self, xs: Sequence[float], low: Sequence[float], high: Sequence[float], style: str) -> None:
        """Fill between two lines."""
        upper = [self.place(x, y) for x, y in zip(xs, high, strict=True)]
        lower = [self.place(x, y) for x, y in zip(xs, low, strict=True)]
        corners = " ".join(f"{left:g},{top:g}" for left, top in [*upper, *reversed(lower)])
        self._marks.append(f'<polygon class="band {style}" points="{corners}"/>')

    def bar(self, x: tuple[float, float], top: float, style: str) -> None:
        """Draw a bar from the bottom of the axes."""
        (left, upper), (right, lower) = self.place(x[0], top), self.place(x[1], self.y[0])
        size = f'width="{max(right - left - 1, 0.5):g}" height="{max(lower - upper, 0):g}"'
        self._marks.append(f'<rect class="bar {style}" x="{left:g}" y="{upper:g}" {size}/>')

    def reference(self, points: Sequence[Point]) -> None:
        """Draw a thin dashed line, such as the diagonal."""
        (x1, y1), (x2, y2) = (self.place(*point) for point in points)
        self._marks.append(f'<path class="reference" d="M{x1:g} {y1:g}L{x2:g} {y2:g}"/>')

    def ring(self, x: float, y: float, style: str) -> None:
        """Draw a ring around a point."""
        left, top = self.place(x, y)
        self._marks.append(f'<circle class="ring {style}" cx="{left:g}" cy="{top:g}" r="6"/>')

    def tip(self, x: float, y: float, shown: str) -> None:
        """Add a point at which the pointer shows a text."""
        if math.isfinite(x) and math.isfinite(y):
            self._tips.append((*self.place(x, y), shown))

    def svg(self, only: str = "") -> Markup:
        """Return the chart; `only` is the class of one that is shown on wide or on narrow screens alone."""
        content = Markup("".join([*self._axes(), *self._marks]))
        return element(
            "svg",
            content,
            viewBox=f"0 0 {self.width} {self.height}",
            role="img",
            tabindex="0" if self._tips else None,
            aria_label=self.title,
            class_=f"chart {only}".strip(),
            data_tips=json.dumps(self._tips, separators=(",", ":")) if self._tips else None,
        )

    def _axes(self) -> list[str]:
        parts = []
        for tick in ticks(*self.x, whole=self.whole_x):
            left, _ = self.place(tick, self.y[0])
            bottom = self.height - BOTTOM
            parts.append(f'<path class="grid" d="M{left:g} {TOP}V{bottom}"/>')
            parts.append(f'<text x="{left:g}" y="{bottom + 18}" text-anchor="middle">{tick:g}</text>')
        for tick in ticks(*self.y):
            _, top = self.place(self.x[0], tick)
            parts.append(f'<path class="grid" d="M{LEFT} {top:g}H{self.width - RIGHT}"/>')
            parts.append(f'<text x="{LEFT - 6}" y="{top + 4:g}" text-anchor="end">{tick:g}</text>')
        middle = (TOP + self.height - BOTTOM) / 2
        parts.append(
            f'<text class="label" x="{(LEFT + self.width - RIGHT) / 2:g}" y="{self.height - 8}" text-anchor="middle">'
            f"{_label(self.x_label)}</text>"
        )
        parts.append(
            f'<text class="label" x="14" y="{middle:g}" text-anchor="middle" transform="rotate(-90 14 {middle:g})">'
            f"{_label(self.y_label)}</text>"
        )
        return parts


def _label(words: str) -> Markup:
    return text(words if len(words) <= LONGEST_LABEL else f"{words[: LONGEST_LABEL - 3]}...")
