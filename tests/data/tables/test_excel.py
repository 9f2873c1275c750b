import datetime
import sys

import pytest

from grpe_dgl.data.tables.rows import NumberCell
from grpe_dgl.data.tables.table import Table
from grpe_dgl.errors import InputError

openpyxl = pytest.importorskip("openpyxl")


def workbook(path, **sheets):
    book = openpyxl.Workbook()
    book.remove(book.active)
    for name, rows in sheets.items():
        sheet = book.create_sheet(name)
        for row in rows:
            sheet.append(row)
    book.save(path)
    return path


DATA = [
    [],
    ["Smiles ", "logS", "active", "when", None],
    ["CCO", 1, True, datetime.datetime(2024, 5, 1)],
    [],
    ["CC", 0.1, None, None],
    ["C", "<10", "no", None],
    ["", "", "", ""],
]


def test_the_sheet_with_molecules_is_found(tmp_path):
    table = Table(workbook(tmp_path / "t.xlsx", Info=[["Laboratory 3"]], Data=DATA, Empty=[]))
    assert table.columns == ["Smiles", "logS", "active", "when"]
    assert table.notes == ["t.xlsx: read from the sheet 'Data'; it also has 'Info'"]
    found = list(table.rows())
    assert found == [
        (3, ["CCO", "1", "True", "2024-05-01T00:00:00"]),
        (4, ["", "", "", ""]),
        (5, ["CC", "0.1", "", ""]),
        (6, ["C", "<10", "no", ""]),
    ]
    assert [isinstance(cells[1], NumberCell) for _, cells in found] == [True, False, True, False]
    assert table.at(3, 6).endswith("t.xlsx, row 3 (sheet row 6)")


def test_a_chosen_sheet(tmp_path):
    path = workbook(tmp_path / "t.xlsx", A=[["smiles"], ["C"]], B=[["smiles"], ["CC"]])
    assert [cells for _, cells in Table(path, sheet="B").rows()] == [["CC"]]
    assert Table(path).notes == ["t.xlsx: read from the sheet 'A'; it also has 'B'"]
    with pytest.raises(InputError, match=r"has no sheet 'b'; it has 'A', 'B'"):
        Table(path, sheet="b")


def test_a_workbook_with_the_name_of_a_csv(tmp_path):
    table = Table(workbook(tmp_path / "t.xlsx", Data=DATA).rename(tmp_path / "t.csv"))
    assert table.notes == ["t.csv is an Excel workbook, whatever its name says, and is read as one"]
    assert len(list(table.rows())) == 4


def test_a_formula_without_a_value_is_not_taken_for_a_blank_cell(tmp_path):
    path = workbook(tmp_path / "t.xlsx", Data=[["smiles", "y"], ["C", 1], ["CC", "=B2*2"]])
    with pytest.raises(InputError, match=r"sheet 'Data', cell B3: '=B2\*2' has no saved value"):
        list(Table(path).rows())


def test_a_cell_beside_the_columns(tmp_path):
    path = workbook(tmp_path / "t.xlsx", Data=[["smiles", "y"], ["C", 1], ["CC", 2, None, "repeat this"]])
    with pytest.raises(InputError, match=r"row 1 \(sheet row 3\): 4 cells; accepted: 2"):
        list(Table(path).rows())


def test_without_openpyxl(tmp_path, monkeypatch):
    path = workbook(tmp_path / "t.xlsx", Data=DATA)
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    with pytest.raises(InputError, match=r"need the package openpyxl; install grpe-dgl\[excel\], or save"):
        Table(path)


def test_a_broken_workbook(tmp_path):
    path = workbook(tmp_path / "t.xlsx", Data=DATA)
    path.write_bytes(path.read_bytes()[:-30])
    with pytest.raises(InputError, match="broken zip archive or workbook"):
        Table(path)
