import click
import pytest

from grpe_dgl_cli.support.duration import Duration


@pytest.mark.parametrize(
    ("text", "seconds"), [("90s", 90), ("45m", 2700), ("2h", 7200), ("1h30m", 5400), ("0.5h", 1800), (".5s", 0.5)]
)
def test_times(text, seconds):
    assert Duration().convert(text, None, None) == seconds


@pytest.mark.parametrize("text", ["2", "", "h", "0s", "1.2.3s", "-5m", "5 m", "1h30", "1d", "²s"])
def test_errors(text):
    with pytest.raises(click.BadParameter, match="accepted: a time with its unit, such as 90s"):
        Duration().convert(text, None, None)
