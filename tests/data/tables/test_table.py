"""Tables as laboratories have them: every format, encoding and separator gives the same rows."""

import gzip

import pytest

from grpe_dgl.data.tables.column_types import INTEGER, NUMBER, TEXT
from grpe_dgl.data.tables.table import Table
from grpe_dgl.errors import InputError

EUROPEAN = (
    "SMILES ;Log S;Name;\r\n"
    "CCO;-0,77;Ethanol, absolut;\r\n"
    'c1ccccc1;1.234,5;"Benzol; ""rein""";\r\n'
    "CC(=O)O;2,25;Essigsäure;\r\n"
    ";;;\r\n"
    "\r\n"
)
CELLS = [
    ["CCO", "-0,77", "Ethanol, absolut", ""],
    ["c1ccccc1", "1.234,5", 'Benzol; "rein"', ""],
    ["CC(=O)O", "2,25", "Essigsäure", ""],
]


def rows(table):
    return [cells for _, cells in table.rows()]


def written(tmp_path, name, content):
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


@pytest.mark.parametrize(
    ("name", "encoding", "note"),
    [
        ("t.csv", "utf-8", None),
        ("t.csv", "utf-8-sig", None),
        ("t.txt", "utf-16", "read as UTF-16"),
        ("t.csv", "utf-16-le", "read as UTF-16 (no byte order mark)"),
        ("t.csv", "utf-16-be", "read as UTF-16 (no byte order mark)"),
        ("t.csv", "latin-1", "read as Latin-1, as it is not UTF-8"),
        ("t.csv.gz", "cp1252", "read as Latin-1, as it is not UTF-8"),
    ],
)
def test_a_european_file(tmp_path, name, encoding, note):
    content = EUROPEAN.encode(encoding)
    table = Table(written(tmp_path, name, gzip.compress(content) if name.endswith(".gz") else content))
    assert table.columns == ["SMILES", "Log S", "Name", ""]
    assert rows(table) == CELLS and table.count() == 3 and table.smiles_place() == 0
    assert [line for line, _ in table.rows()] == [2, 3, 4]
    expected = [f"{name}: {note}"] if note else []
    assert table.notes == [*expected, f"{name}: columns are separated by semicolons"]


def test_a_letter_of_another_encoding_anywhere(tmp_path):
    text = b"smiles,name\n" + b"C,methane\n" * 200_000 + b"C,\x80uro\n"
    table = Table(written(tmp_path, "t.csv", text))
    assert table.notes == ["t.csv: read as Windows-1252, a form of Latin-1, as it is not UTF-8"]
    *_, (_, last) = table.rows()
    assert last == ["C", "€uro"]


@pytest.mark.parametrize(
    ("name", "text", "columns", "notes"),
    [
        ("t.tsv", "smiles\ty\nC\t1\n", ["smiles", "y"], []),
        ("t.txt", "smiles\ty\nC\t1\n", ["smiles", "y"], ["t.txt: columns are separated by tabs"]),
        ("t.tsv", "smiles,y\nC,1\n", ["smiles", "y"], ["t.tsv: columns are separated by commas"]),
        ("t.csv", "sep=;\nsmiles;y\nC;1\n", ["smiles", "y"], ["t.csv: columns are separated by semicolons"]),
        ("t.csv", "\n\nsmiles,y\n\nC,1\n", ["smiles", "y"], []),
        ("t.csv", "smiles;IC50, nM\nC;1,5\n", ["smiles", "IC50, nM"], ["t.csv: columns are separated by semicolons"]),
        ("t.csv", '"smiles","a;b;c"\n"C","1"\n', ["smiles", "a;b;c"], []),
        ("t.csv", "smiles\nC\n", ["smiles"], []),
        ("t.csv", "smiles,y\r\nC,1,\r\nCC,2,,\r\n", ["smiles", "y"], []),
        ("t.csv", "smiles,y,\nC,1\n", ["smiles", "y", ""], []),
    ],
)
def test_separators_and_header(tmp_path, name, text, columns, notes):
    table = Table(written(tmp_path, name, text))
    assert (table.columns, table.notes) == (columns, notes)
    assert all(len(cells) == len(columns) for cells in rows(table)) and rows(table)[0][0] == "C"


def test_blank_rows(tmp_path):
    """Those at the end are left out; those between are rows, as pandas has them, and keep the rows' numbers."""
    table = Table(written(tmp_path, "t.csv", "smiles,y\nC,1\n,\nCC,2\n,\n , \n"))
    assert list(table.rows()) == [(2, ["C", "1"]), (3, ["", ""]), (4, ["CC", "2"])]


@pytest.mark.parametrize(
    ("columns", "place"),
    [
        (["id", "SMILES"], 1),
        (["id", "Canonical SMILES"], 1),
        (["SMILES", "smiles"], 1),
        (["isomeric_smiles", "canonical_smiles"], 1),
        (["CanonicalSMILES", "y"], 0),
    ],
)
def test_the_column_of_molecules(tmp_path, columns, place):
    table = Table(written(tmp_path, "t.csv", ",".join(columns) + "\nC,C\n"))
    assert table.smiles_place() == place
    assert table.smiles_place(columns[0].upper() if place == 1 and columns[0] == "id" else columns[0]) == 0


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        (
            "t.csv",
            "smiles,y\nCCO,-0,77\n",
            r"row 0 \(line 2\): 3 cells; accepted: 2, .*separated by commas; a cell",
        ),
        ("t.csv", "smiles,y,z\nC,1,2\nC,1\n", r"row 1 \(line 3\): 2 cells; accepted: 3"),
        ("t.csv", "CCO,1.5\nC,2\n", "no column 'smiles'; it has 'CCO', '1.5'.*first line must have the names"),
        ("t.csv", "smiles,smiles\nC,C\n", "2 columns of SMILES, 'smiles', 'smiles'"),
        ("t.csv", "<!DOCTYPE html>\n<html>\n", "is a web page"),
        ("t.csv", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", r"an old Excel \(.xls\) or one with a password"),
        ("t.csv", b"PK\x03\x04broken", "broken zip archive"),
        ("t.csv", bytes(range(256)), "is not text"),
        ("t.sdf", "hello\nworld\n", "is not an SDF file"),
        ("t.parquet", "hello\n", "is not a Parquet file"),
        ("t.csv", "\n \n", "is empty; accepted: a first line"),
        ("t.smi", "\n", "is empty; accepted: a SMILES in every line"),
        ("t.xls", "x", "accepted are names that end in .csv.*save it as .xlsx first"),
    ],
)
def test_refused(tmp_path, name, text, message):
    with pytest.raises(InputError, match=message):
        table = Table(written(tmp_path, name, text))
        table.smiles_place()
        list(table.rows())


def test_another_format_than_the_name_promises(tmp_path):
    text = "smiles,y\nC,1\n"
    table = Table(written(tmp_path, "t.csv", gzip.compress(text.encode())))
    assert rows(table) == [["C", "1"]] and table.notes == ["t.csv is compressed by gzip, whatever its name says"]
    table = Table(written(tmp_path, "t.csv.gz", text))
    assert rows(table) == [["C", "1"]] and table.notes == ["t.csv.gz is not compressed, whatever its name says"]
    table = Table(written(tmp_path, "t.xlsx", text))
    assert table.notes[0] == "t.xlsx is a text table, whatever its name says, and is read as one"


def test_smi(tmp_path):
    table = Table(written(tmp_path, "t.smi", "smiles id y\nCCO a 1.5\nC b\n"))
    assert table.columns == ["smiles", "id", "y"] and rows(table) == [["CCO", "a", "1.5"], ["C", "b", ""]]
    table = Table(written(tmp_path, "t.smi", "CCO\tethyl alcohol\t5\nC\tmethane\t\n"))
    assert rows(table) == [["CCO", "ethyl alcohol", "5"], ["C", "methane", ""]]
    table = Table(written(tmp_path, "t.smi", "CCO,1.5\nC,2\n"))
    assert table.columns == ["smiles", "2"] and rows(table) == [["CCO", "1.5"], ["C", "2"]]


def test_parquet(tmp_path):
    pyarrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    content = pyarrow.table(
        {
            "SMILES": ["C", None, "CC"],
            "n": pyarrow.array([1, None, 3]),
            "x": pyarrow.array([0.1, float("nan"), 2.0], pyarrow.float32()),
            "flag": [True, False, None],
        }
    )
    parquet.write_table(content, tmp_path / "t.parquet")
    table = Table(tmp_path / "t.parquet")
    assert rows(table) == [["C", "1", "0.1", "True"], ["", "", "", "False"], ["CC", "3", "2.0", ""]]
    assert table.types() == [TEXT, INTEGER, NUMBER, TEXT] and table.count() == 3
    assert table.at(1, 2).endswith("t.parquet, row 1")
    broken = (tmp_path / "t.parquet").read_bytes()[:-20]
    with pytest.raises(InputError, match="t.parquet cannot be read"):
        Table(written(tmp_path, "t.parquet", broken))


def test_lines_of_blanks_are_no_rows(tmp_path):
    table = Table(written(tmp_path, "t.csv", "smiles,y\n  \nCCO,1\n\t \nCC,2\n   \n"))
    assert list(table.rows()) == [(3, ["CCO", "1"]), (5, ["CC", "2"])]
    one_column = Table(written(tmp_path, "u.csv", 'smiles\nCCO\n   \n""\nCC\n'))
    assert [cells for _, cells in one_column.rows()] == [["CCO"], [""], ["CC"]]


@pytest.mark.parametrize("text", ["smiles y\nCCO 1\n", "smiles|y\nCCO|1\n", "My table\n\nsmiles,y\nCCO,1\n"])
def test_a_first_line_without_columns(tmp_path, text):
    table = Table(written(tmp_path, "t.csv", text))
    with pytest.raises(InputError, match="no column 'y'; it has .*; its first line must .*commas, semicolons or tabs"):
        table.place("y")
