"""A DataFrame or a dict of columns as the file of a table, which everything else reads."""

import contextlib
import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from grpe_dgl.errors import InputError

_LINE = re.compile(r" \(line \d+\)|(?<=: )line \d+: ")  # of a file that its user never saw


def column_name(name: Any) -> str:
    """Return the name of a column as a text; pandas also numbers them."""
    if isinstance(name, str) or (isinstance(name, int) and not isinstance(name, bool)):
        return str(name)
    raise InputError(f"a column is called {name!r}; accepted: a text, or a whole number")


@contextlib.contextmanager
def as_file(table: Any, smiles: str | None, columns: Sequence[str]) -> Iterator[tuple[Path, str | None, Any]]:
    """Yield a table as a file, the name of its column of molecules, and the labels of its rows.

    Errors that are raised inside name the table and its rows, not the temporary file.

    Parameters
    ----------
    table
        A DataFrame, a dict of columns, or the path of a file, which is yielded as it is, with None for labels.
    smiles
        The column of the molecules, in small or capital letters; None for the usual names.
    columns
        The other columns that are needed.
    """
    if isinstance(table, str | Path):
        yield Path(table), smiles, None
        return
    import pandas

    if not isinstance(table, pandas.DataFrame | Mapping):
        raise InputError(
            f"table is a {type(table).__name__}; accepted: a DataFrame, a dict of columns, or the path of a table"
        )
    frame = table if isinstance(table, pandas.DataFrame) else pandas.DataFrame(dict(table))
    names = [str(name) for name in frame.columns]
    if smiles is not None and smiles not in names:
        alike = [name for name in names if name.strip().lower() == smiles.strip().lower()]
        smiles = alike[0] if len(alike) == 1 else smiles
    for column in [*([smiles] if smiles else []), *columns]:
        if names.count(column) != 1:
            found = ", ".join(map(repr, names))
            raise InputError(f"the table has {names.count(column)} columns {column!r}; it has {found}")
    if not len(frame):
        raise InputError("the table has no rows")
    kept = list(dict.fromkeys([smiles, *columns])) if smiles else names
    with tempfile.TemporaryDirectory(prefix="grpe-table-") as folder:
        file = Path(folder) / "table.csv"
        frame.set_axis(names, axis=1)[kept].to_csv(file, index=False, lineterminator="\n")
        try:
            yield file, smiles, frame.index
        except InputError as error:
            message = _LINE.sub("", str(error).replace(str(file), "the table").replace(file.name, "the table"))
            raise InputError(message, hint=error.hint, value=error.value) from None
