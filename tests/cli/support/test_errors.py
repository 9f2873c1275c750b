"""The library names no command; the CLI adds what to type."""

import ast
import pickle
import re
from pathlib import Path

import grpe_dgl
from grpe_dgl.errors import InputError
from grpe_dgl_cli.main import main
from grpe_dgl_cli.support.hints import HINTS, OF_COMMAND, with_hint

LIBRARY = Path(grpe_dgl.__file__).parent
FILES = sorted(path for path in LIBRARY.rglob("*.py") if path.name != "__main__.py")
COMMAND = re.compile(rf"\bgrpe ({'|'.join(main.commands)})\b|(?<![\w-])--[a-z]|exit code")


def texts(tree):
    """Yield the string literals of a module that are no docstrings."""
    docstrings = {
        id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docstrings:
            yield node.lineno, node.value


def test_messages_of_the_library_name_no_command_and_no_option():
    assert COMMAND.search("make one with `grpe preprocess`") and COMMAND.search("try --force")
    found = [
        f"{path.relative_to(LIBRARY)}:{line}: {text}"
        for path in FILES
        for line, text in texts(ast.parse(path.read_text()))
        if COMMAND.search(text) and "var(--" not in text  # a style sheet's variables are no options
    ]
    assert found == []


def test_the_library_does_not_import_click_print_or_exit():
    for path in FILES:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import | ast.ImportFrom):
                modules = [alias.name for alias in node.names] if isinstance(node, ast.Import) else [node.module or ""]
                assert not {"click", "grpe_dgl_cli"} & {module.split(".")[0] for module in modules}, path
            if isinstance(node, ast.Call):
                assert ast.unparse(node.func) not in ("print", "sys.exit", "exit"), f"{path}:{node.lineno}"


def test_every_hint_of_the_library_has_its_sentence():
    used = set()
    for path in FILES:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.keyword) and node.arg == "hint":
                used |= {part.value for part in ast.walk(node.value) if isinstance(part, ast.Constant) and part.value}
    assert used == set(HINTS)


def test_a_hint_is_appended_with_its_value_quoted():
    assert with_hint(InputError("it is broken")) == "it is broken"
    error = InputError("it is corrupt", hint="verify_dataset", value="my data")
    assert with_hint(error) == "it is corrupt; `grpe info 'my data' --verify` lists what is wrong"


def test_hints_name_only_options_of_their_command():
    for command, hints in OF_COMMAND.items():
        options = {name for option in main.commands[command].params for name in option.opts}
        for name, text in hints.items():
            assert name in HINTS
            assert set(re.findall(r"--[a-z-]+", text)) <= options
    error = InputError("it has one class", hint="other_split")
    assert "--force" in with_hint(error) and "--force" not in with_hint(error, "fit")


def test_a_hint_comes_through_from_a_worker_process():
    error = pickle.loads(pickle.dumps(InputError("it is corrupt", hint="verify_dataset", value="data")))
    assert (str(error), error.hint, error.value) == ("it is corrupt", "verify_dataset", "data")
