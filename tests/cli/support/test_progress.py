"""Bars on a terminal, plain lines elsewhere."""

import contextlib
import io
import re
import time

from grpe_dgl_cli.support import progress as module
from grpe_dgl_cli.support.progress import progress, terminal_bar
from grpe_dgl_cli.support.run_display import show_run
from tests.training.tiny import recipe


class Terminal(io.StringIO):
    def isatty(self):
        return True


@contextlib.contextmanager
def terminal():
    """Standard error on a terminal; what was shown is read from the yielded stream."""
    with contextlib.redirect_stderr(Terminal()) as screen:
        yield screen


def test_a_bar_shows_what_is_done_and_the_time_left():
    with terminal() as screen, progress("lipo\x1b[2J", 4200, "rows") as more:
        for _ in range(3):
            more(700)
    last = screen.getvalue().replace("\r", "\n").rstrip("\n ").splitlines()[-1]
    assert re.fullmatch(r"lipo\\x1b\[2J:  50%\|.*\| 2100 of 4200 rows, .*rows/s, \d\d:\d\d left", last)


def test_units_of_an_earlier_session_count_for_the_bar_and_not_for_the_rate():
    with terminal() as screen, terminal_bar("epoch 2", 1000, "updates", done=900) as bar:
        bar.update(10)
        bar.refresh()
        values = bar.format_dict
    assert (values["n"], values["initial"]) == (910, 900)
    assert "epoch 2:  91%|" in screen.getvalue() and "910 of 1000 updates" in screen.getvalue()


def test_without_a_terminal_there_are_plain_lines(capsys, monkeypatch):
    monkeypatch.setattr(module, "_SECONDS_BETWEEN_LINES", 0.0)
    with progress("lipo", 4200, "rows") as more:
        more(2100)
    errors = capsys.readouterr().err
    assert re.fullmatch(r"lipo: 2,100 of 4,200 rows, [\d,]+/s, \d+ s left\n", errors)


def test_a_run_shows_its_epoch_and_lines_above_the_bar(tmp_path, capsys):
    settings = recipe(training__metric="mae")
    with terminal() as screen, show_run(settings, tmp_path, resume=False, tensorboard=False) as callbacks:
        callbacks.start(1, 5, 15)
        callbacks.step(10, 15, 0.5, 1e-3)
        callbacks.epoch({"epoch": 2, "train_loss": 0.5, "valid_mae": 0.25, "updates": 10}, True)
        time.sleep(0.15)  # a bar is drawn ten times a second
        callbacks.step(11, 15, 0.5, 1e-3)
    shown = capsys.readouterr().out
    assert "resuming after update 5 of 15, 1 epoch done\n" in shown
    assert "epoch   2  loss 0.5000  valid mae 0.25" in shown
    assert "epoch 2:  33%|" in screen.getvalue() and "left" in screen.getvalue()
    assert "epoch 3:  73%|" in screen.getvalue() and "11 of 15 updates" in screen.getvalue()
