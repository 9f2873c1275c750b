"""The type of ``--max-time``."""

import re
from typing import Any

import click

SECONDS = {"h": 3600, "m": 60, "s": 1}


class Duration(click.ParamType):
    """A time like 90s, 45m, 2h or 1h30m, as seconds."""

    name = "TIME"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Return seconds."""
        if isinstance(value, float):
            return value
        text = str(value)
        parts = re.findall(r"(\d+\.?\d*|\.\d+)([hms])", text, flags=re.ASCII)
        seconds = sum(float(number) * SECONDS[unit] for number, unit in parts)
        if "".join(number + unit for number, unit in parts) != text or seconds <= 0:
            self.fail(f"{value!r}; accepted: a time with its unit, such as 90s, 45m, 2h or 1h30m", param, ctx)
        return seconds
