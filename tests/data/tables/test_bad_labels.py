import csv

import numpy as np
import pytest

from grpe_dgl.data.sources.csv import CSVRequest, csv_source
from grpe_dgl.data.tables.bad_labels import problem_of
from grpe_dgl.data.tables.number_format import NumberFormat
from grpe_dgl.errors import InputError

CELLS = ["1.5", "<10", "5 nM", "", "NA", "1,5", "5±1", "5-10", "abc", "#DIV/0!", "inf", "12%", ">= 3", "~4", "2"]


def request(tmp_path, cells, **options):
    file = tmp_path / "t.csv"
    file.write_text("smiles,y\n" + "".join(f'{"C" * (i + 1)},"{cell}"\n' for i, cell in enumerate(cells)))
    return CSVRequest(file=file, targets=("y",), bad_labels_file=tmp_path / "out" / "bad.csv", **options)


@pytest.mark.parametrize(
    ("cell", "problem"),
    [
        ("<10", "is a bound or an approximate value, not a measured one"),
        ("≥ 3.5 µM", "is a bound or an approximate value, not a measured one"),
        ("5 nM", "has the unit 'nM' beside the number"),
        ("12%", "has the unit '%' beside the number"),
        ("1,5", "has a decimal comma"),
        ("1,234", "has a comma that may be a decimal comma or separate thousands"),
        ("5±1", "is a number with its uncertainty"),
        ("5 - 10", "is a range"),
        ("#DIV/0!", "is an error of a spreadsheet"),
        ("1e99", "is not finite, or too large for a number of 32 bits"),
        ("soluble", "is a text"),
    ],
)
def test_problems(cell, problem):
    assert problem_of(cell, NumberFormat())[1] == problem


def test_every_bad_label_is_listed(tmp_path):
    with pytest.raises(InputError) as caught:
        csv_source(request(tmp_path, CELLS))
    lines = str(caught.value).splitlines()
    assert lines[0].endswith("t.csv: 11 labels cannot be used:") and len(lines) == 13
    assert lines[1] == "  row 1 (line 3), column 'y': '<10' is a bound or an approximate value, not a measured one"
    assert lines[11] == f"  and 1 more; all are listed in {tmp_path / 'out' / 'bad.csv'}"
    assert lines[12].startswith("accepted: a number with a decimal point, or blank for a missing label (or choose")
    assert caught.value.hint == "labels_missing"
    with (tmp_path / "out" / "bad.csv").open() as stream:
        listed = list(csv.DictReader(stream))
    assert [row["cell"] for row in listed] == [c for c in CELLS if c not in ("1.5", "2", "", "NA")]
    assert [int(row["row"]) for row in listed] == [1, 2, *range(5, 14)] and listed[0]["line"] == "3"


def test_bad_labels_as_missing_ones(tmp_path):
    source, notes = csv_source(request(tmp_path, CELLS, bad_labels="missing"))
    (job,) = source.jobs
    np.testing.assert_array_equal(job().label[:, 0], [1.5, *[np.nan] * 13, 2])
    assert notes[1].startswith(
        "11 labels that cannot be used are missing labels, such as row 1 (line 3), column 'y': '<"
    )
    assert (tmp_path / "out" / "bad.csv").exists() and source.settings["bad_labels"] == "missing"
    with pytest.raises(InputError, match="column 'y' has no number in any row"):
        csv_source(request(tmp_path, ["a", "b", "c"], bad_labels="missing", task="regression"))


@pytest.mark.parametrize(
    ("cells", "hint"),
    [
        (["1,5", "2,25", "3"], "decimal_comma"),
        (["1,5", "1,234"], "decimal_comma"),
        (["1,234", "2,500"], "decimal_or_thousands"),
        (["1,5", "<3"], "labels_missing"),
    ],
)
def test_what_can_be_done(tmp_path, cells, hint):
    with pytest.raises(InputError) as caught:
        csv_source(request(tmp_path, cells))
    assert caught.value.hint == hint


def test_decimal_commas(tmp_path):
    source, _ = csv_source(request(tmp_path, ["1,5", "-2,25", "1.234,5"], numbers=NumberFormat(",")))
    (job,) = source.jobs
    assert job().label.ravel().tolist() == [1.5, -2.25, 1234.5] and source.settings["decimal"] == ","


def test_a_list_that_cannot_be_written_hides_no_error(tmp_path):
    (tmp_path / "out").write_text("a file")
    with pytest.raises(InputError, match="2 labels cannot be used:(.|\n)*their list cannot be written to"):
        csv_source(request(tmp_path, ["x", "y", "1"], task="regression"))


def test_two_classes_are_inferred_from_texts_alone(tmp_path):
    assert csv_source(request(tmp_path, ["low", "high", "low"]))[0].schema.task.kind == "binary"
    for cells in (["<10", ">10"], ["5 nM", "6 nM"]):
        with pytest.raises(InputError, match="2 labels cannot be used"):
            csv_source(request(tmp_path, cells))
        assert csv_source(request(tmp_path, cells, task="classification"))[0].schema.task.kind == "binary"


@pytest.mark.parametrize(
    ("cells", "end", "hint"),
    [
        (
            ["low", "mid", "high"],
            "(or choose the task classification, with the classes high, low, mid)",
            "labels_classes",
        ),
        (
            ["Yes", "yes", "no"],
            "with the classes Yes, no, yes; Yes and yes differ in capital letters alone: write them alike)",
            "labels_classes",
        ),
        (["low", "mid", "1"], "(or choose the task classification)", "labels_missing"),
        (["low", "mid", "<1"], "with the classes <1, low, mid)", "labels_missing"),
    ],
)
def test_texts_may_be_classes(tmp_path, cells, end, hint):
    with pytest.raises(InputError) as error:
        csv_source(request(tmp_path, cells * 3))
    assert str(error.value).endswith(end) and error.value.hint == hint


def test_classes_that_differ_in_capital_letters_are_mentioned(tmp_path):
    _, notes = csv_source(request(tmp_path, ["Yes", "yes", "no"] * 3, task="classification"))
    assert "column 'y': Yes and yes differ in capital letters alone: write them alike" in notes


def test_other_columns_of_molecules_are_mentioned(tmp_path):
    file = tmp_path / "t.csv"
    file.write_text("canonical_smiles,SMILES,y\nCC,C,1.5\nCCC,CC,2\n")
    _, notes = csv_source(CSVRequest(file=file, targets=("y",)))
    note = next(note for note in notes if "there is also" in note)
    assert note == "molecules are read from column 'SMILES'; there is also 'canonical_smiles'"
    assert note.hint == "other_smiles"
    _, notes = csv_source(CSVRequest(file=file, targets=("y",), smiles="SMILES"))
    assert not any("there is also" in note for note in notes)
