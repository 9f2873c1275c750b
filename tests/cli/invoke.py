"""Run a command as a user would."""

import contextlib

from click.testing import CliRunner

from grpe_dgl_cli.main import main


def invoke(*words):
    """Run ``grpe WORDS`` and return click's result, whatever its exit code."""
    return CliRunner().invoke(main, [str(word) for word in words])


def grpe(*words, folder=".", code=0):
    """Run ``grpe WORDS`` inside `folder`, check the exit code and return click's result."""
    with contextlib.chdir(folder):
        result = invoke(*words)
    assert result.exit_code == code, result.output
    return result


def grpe_in(folder, *words, code=0):
    """Run ``grpe WORDS`` inside `folder`, check the exit code and return what it printed."""
    return grpe(*words, folder=folder, code=code).output
