import gzip

import numpy as np
import pytest

from grpe_dgl.data.sources.csv import CSVRequest, csv_source
from grpe_dgl.data.store.preprocess import preprocess
from grpe_dgl.data.store.store import Store
from grpe_dgl.data.tables.number_format import NumberFormat
from grpe_dgl.data.tables.table import Table
from grpe_dgl.errors import InputError


def table(tmp_path, text, name="t.csv"):
    path = tmp_path / name
    path.write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode())
    return path


def runs(request):
    source, notes = csv_source(request)
    graphs = [job() for job in source.jobs]
    rows = []
    for run in graphs:
        source.observe(run)
        skipped = {skip.row for skip in run.skipped}
        rows += [row for row in range(len(run.num_nodes) + len(skipped)) if row not in skipped]
    return source, graphs[0], source.splits(np.array(rows)), notes


SIMPLE = "smiles,y\nC,1.5\nCC,\nCCC,nan\nO,2\n"


@pytest.mark.parametrize("name", ["t.csv", "t.csv.gz"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_regression_is_inferred_and_said(tmp_path, name, mark):
    file = table(tmp_path, mark + SIMPLE, name)
    source, run, splits, notes = runs(CSVRequest(file=file, targets=("y",), fractions=(0.5, 0.25, 0.25)))
    assert (source.schema.name, source.schema.task.kind, source.schema.task.standardise) == ("t", "regression", True)
    np.testing.assert_array_equal(run.label, [[1.5], [np.nan], [np.nan], [2]])
    assert {split: len(rows) for split, rows in splits.items()} == {"train": 2, "valid": 1, "test": 1}
    assert notes == ["task inferred from the targets: regression"]


def test_smi(tmp_path):
    file = table(tmp_path, "CCO 1.5\nC\t2.5\n\nOC(C)=O 3\n", "t.smi")
    _, run, _, _ = runs(CSVRequest(file=file, targets=("2",), task="regression"))
    assert (run.num_nodes.tolist(), run.label.ravel().tolist()) == ([3, 1, 4], [1.5, 2.5, 3.0])


def test_smi_lines_may_end_early_or_in_several_words(tmp_path):
    file = table(tmp_path, "\nCCO ethyl alcohol\nC\nCC(=O)O acetic acid\n", "t.smi")
    rows = [cells for _, cells in Table(file).rows()]
    assert rows == [["CCO", "ethyl", "alcohol"], ["C", "", ""], ["CC(=O)O", "acetic", "acid"]]
    rows = [cells for _, cells in Table(table(tmp_path, "C\nCC x y\n", "t.smi")).rows()]
    assert rows == [["C", ""], ["CC", "x y"]]
    with pytest.raises(InputError, match="is empty; accepted: a SMILES in every line"):
        Table(table(tmp_path, "\n", "t.smi"))


def test_a_quote_that_is_never_closed(tmp_path):
    with pytest.raises(InputError, match=r"t.csv, after line 2: a quote is never closed"):
        list(Table(table(tmp_path, 'smiles,a\nC,1\nCC,"x\nCCC,2\n')).rows())


def test_binary_targets(tmp_path):
    file = table(tmp_path, "smiles,a,b\nC,0,1\nCC,1,\nCCC,0.0,1\n")
    source, run, _, notes = runs(CSVRequest(file=file, targets=("b", "a")))
    task = source.schema.task
    assert (task.kind, task.targets, task.metric) == (
        "binary",
        ("b", "a"),
        "rocauc",
    )
    np.testing.assert_array_equal(run.label, [[1, 0], [np.nan, 1], [1, 0]])
    assert notes == ["task inferred from the targets: classification (every label is 0 or 1)"]
    assert csv_source(CSVRequest(file=file, targets=("a",), task="regression"))[0].schema.task.kind == "regression"


@pytest.mark.parametrize(
    ("cells", "classes", "labels"),
    [
        (("red", "", "blue", "red", "green", "red", "red"), ("blue", "green", "red"), [2, -1, 0, 2, 1, 2, 2]),
        (("10", "9", "2", "10", "9", "2"), ("2", "9", "10"), [2, 1, 0, 2, 1, 0]),
        (("a", "b", "c", "a", "b", "c"), ("a", "b", "c"), [0, 1, 2, 0, 1, 2]),
    ],
)
def test_classes_keep_their_names(tmp_path, cells, classes, labels):
    file = table(tmp_path, "smiles,y\n" + "".join(f"C,{cell}\n" for cell in cells))
    source, run, _, notes = runs(CSVRequest(file=file, targets=("y",), task="classification"))
    assert (source.schema.task.kind, source.schema.task.classes, source.schema.task.num_outputs) == (
        "multiclass",
        classes,
        len(classes),
    )
    assert run.label.tolist() == labels and run.label.dtype == np.int64
    assert notes[0] == f"{len(classes)} classes: {', '.join(classes)}"
    assert notes[1:] == ["1 molecule occurs in more than one split (same canonical SMILES)"]


@pytest.mark.parametrize("word", ["NA", "n/a", "null", " None ", "nan", "NaN"])
def test_words_for_no_label(tmp_path, word):
    file = table(tmp_path, f"smiles,y,z\nC,1,1.5\nCC,{word},{word}\nCCC,0,2\n")
    for task in (None, "classification"):
        source, run, _, _ = runs(CSVRequest(file=file, targets=("y",), task=task))
        assert source.schema.task.kind == "binary"
        np.testing.assert_array_equal(run.label, [[1], [np.nan], [0]])
    source, run, _, _ = runs(CSVRequest(file=file, targets=("z",)))
    np.testing.assert_array_equal(run.label, [[1.5], [np.nan], [2]])


def test_classes_that_look_like_something_else(tmp_path):
    file = table(tmp_path, "smiles,y,z\n" + "".join(f"C,{i / 2},n{i}\n" for i in range(7)))
    assert csv_source(CSVRequest(file=file, targets=("y",), task="classification"))[1] == [
        "7 classes: 0.0, 0.5, 1.0, 1.5, 2.0, ...",
        "column 'y' has 7 classes in 7 rows: it looks like a regression",
    ]
    assert csv_source(CSVRequest(file=file, targets=("z",), task="classification"))[1][1] == (
        "column 'z' has 7 classes in 7 rows: is it the right column?"
    )
    many = table(tmp_path, "smiles,y\n" + "".join(f"C,{i}\n" for i in range(1001)))
    with pytest.raises(InputError, match="1,000 classes, or the task regression, as all are numbers"):
        csv_source(CSVRequest(file=many, targets=("y",), task="classification"))


def test_skipped_rows_tell_row_and_line(tmp_path):
    file = table(tmp_path, 'smiles,y,note\nC,1,"two\nlines"\n\nC(,2,\nCC,3,\nCCCCC,4,\n')
    _, run, splits, _ = runs(CSVRequest(file=file, targets=("y",), max_nodes=4, task="regression"))
    assert [(skip.row, skip.reason) for skip in run.skipped] == [
        (1, "line 5: 'C(' cannot be read: it is not a SMILES"),
        (3, "line 7: the molecule has 5 atoms; max_nodes is 4"),
    ]
    assert run.label.ravel().tolist() == [1, 3]


def test_split_column(tmp_path):
    file = table(tmp_path, "smiles,y,set\nC,1,train\nCC,2,Val\nX,3,train\nCCC,4,\nCO,5,test\nOC,6,train\n")
    request = CSVRequest(file=file, targets=("y",), split="column", split_column="set", task="regression")
    _, _, splits, notes = runs(request)
    assert {name: rows.tolist() for name, rows in splits.items()} == {"train": [0, 4], "valid": [1], "test": [3]}
    assert notes == [
        "1 row is in no split: column 'set' is blank there",
        "1 molecule occurs in more than one split (same canonical SMILES)",
    ]


def test_only_equal_molecules_count_as_shared(tmp_path):
    """Stereoisomers look alike at first and are told apart; two ways to write one molecule are not."""
    rows = ["C[C@H](N)O,train", "X,train", "C[C@@H](N)O,test", "OCC,test", "CCO,train", "CCO,valid", "F/C=C/F,train"]
    file = table(tmp_path, "smiles,set,y\n" + "".join(f"{row},1.5\n" for row in [*rows, "F/C=C\\F,valid"]))
    request = CSVRequest(file=file, targets=("y",), split_column="set", split="column", task="regression")
    assert runs(request)[3] == ["1 molecule occurs in more than one split (same canonical SMILES)"]


def test_index_files(tmp_path):
    file = table(tmp_path, SIMPLE)
    (tmp_path / "train").write_text("3\n0\n")
    (tmp_path / "test").write_text("2\n")
    files = {"train": tmp_path / "train", "test": tmp_path / "test"}
    _, _, splits, _ = runs(CSVRequest(file=file, targets=("y",), split="index", split_files=files))
    assert {name: rows.tolist() for name, rows in splits.items()} == {"train": [3, 0], "test": [2]}


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        (SIMPLE, {"targets": ("Y1",)}, r"has no column 'Y1'; it has 'smiles', 'y'; did you mean 'y'\?"),
        (SIMPLE, {"smiles": "SMILE"}, r"has no column 'SMILE'; it has 'smiles', 'y'; did you mean 'smiles'\?"),
        (SIMPLE, {"targets": ("y", "y")}, "each column once"),
        (SIMPLE, {"targets": ()}, "at least one column"),
        (SIMPLE, {"task": "ranking"}, "task is 'ranking'; accepted: regression, classification"),
        (SIMPLE, {"split": "time"}, "split is 'time'; accepted: random, scaffold, column, index"),
        (SIMPLE, {"split": "column"}, "go together"),
        (SIMPLE, {"max_nodes": 0}, "max_nodes is 0"),
        (SIMPLE, {"fractions": (0.5, 0.5)}, "three numbers"),
        ("smiles,y,y\nC,1,2\n", {}, "2 columns 'y'"),
        ("smiles,y\nC,1\nCC,high\n", {}, r"row 1 \(line 3\), column 'y': 'high' is a text; accepted: a number"),
        ("smiles,y\nC,1\nCC,inf\n", {}, r"row 1 \(line 3\), column 'y': 'inf' is not finite.*; accepted: a number"),
        ("smiles,y\nC,1,9\n", {}, r"row 0 \(line 2\): 3 cells; accepted: 2"),
        ("smiles,y\nC,\nCC,\n", {}, "column 'y' has no label in any row"),
        ("smiles,y\n", {}, "has no rows"),
        ("", {}, "is empty"),
        ("smiles,y\nC,a\nCC,a\n", {"task": "classification"}, "has one class"),
        ("smiles,y,z\nC,0,1\nCC,2,0\nC,1,1\n", {"targets": ("y", "z"), "task": "classification"}, "column 'y': '2'"),
        ("smiles,y\nC,a\nCC,b\n", {"positive": ("c",)}, "'c' was chosen as positive class, and no target has it"),
        ("smiles,y\nC,a\nCC,b\n", {"positive": ("a", "b")}, "both classes, a and b, are chosen as positive"),
        ("smiles,y\nC,a\nCC,b\nC,c\n", {"positive": ("a",)}, "has 3 classes; accepted: a positive class only of two"),
        ("smiles,y\nC,1\nCC,0\n", {"positive": ("1",), "task": "regression"}, "chosen for the task regression"),
        ("smiles,y,s\nC,0,dev\nC,1,x\n", {"split": "column", "split_column": "s"}, r"column 's': 'x'; accepted: train"),
    ],
)
def test_refused(tmp_path, text, options, message):
    with pytest.raises(InputError, match=message):
        csv_source(CSVRequest(**{"file": table(tmp_path, text), "targets": ("y",), **options}))


def test_files_refused(tmp_path):
    with pytest.raises(InputError, match=r"absent.csv cannot be read: No such file"):
        csv_source(CSVRequest(file=tmp_path / "absent.csv", targets=("y",)))
    with pytest.raises(InputError, match=r"t.xls: accepted are names that end in .csv.*save it as .xlsx"):
        csv_source(CSVRequest(file=table(tmp_path, SIMPLE, "t.xls"), targets=("y",)))
    (tmp_path / "b.csv").write_bytes(b"smiles,y\nC,\x00\x01\n")
    with pytest.raises(InputError, match="b.csv is not text"):
        csv_source(CSVRequest(file=tmp_path / "b.csv", targets=("y",)))
    (tmp_path / "b.csv.gz").write_bytes(gzip.compress(SIMPLE.encode())[:-12])
    with pytest.raises(InputError, match="b.csv.gz cannot be read: Compressed file ended"):
        csv_source(CSVRequest(file=tmp_path / "b.csv.gz", targets=("y",)))


def test_a_split_without_training_graphs(tmp_path):
    with pytest.raises(InputError, match="leaves none of 1 molecule for train"):
        runs(CSVRequest(file=table(tmp_path, "smiles,y\nC,1\n"), targets=("y",)))


@pytest.mark.slow
def test_stored_in_two_processes_as_in_one(shared_raw, tmp_path):
    for workers in (1, 2):
        request = CSVRequest(file=shared_raw.parent / "csv" / "lipo.csv", targets=("lipo",), split="scaffold")
        manifest = preprocess(csv_source(request)[0], tmp_path / str(workers), workers=workers)
    first, second = (Store(tmp_path / str(workers)).manifest for workers in (1, 2))
    assert first.arrays == second.arrays and manifest.num_graphs == 4200
    assert first.target_mean == pytest.approx((2.186,), abs=0.05)


@pytest.mark.parametrize("word", ["NA", "N/A", "null", "None", "none"])
def test_words_for_no_value_are_no_class(tmp_path, word):
    file = table(tmp_path, f"smiles,y\nC,red\nCC,{word}\nCCC,blue\nCCCC,green\nO,{word}\n")
    source, run, _, notes = runs(CSVRequest(file=file, targets=("y",), task="classification"))
    assert source.schema.task.classes == ("blue", "green", "red") and run.label.tolist() == [2, -1, 0, 1, -1]
    assert "2 cells with a word for no value (NA, null, None, ...) are missing labels" in notes


@pytest.mark.parametrize(
    ("cells", "options", "negative", "positive", "labels"),
    [
        (("inactive", "active", "NA", "active"), {}, "inactive", "active", [0, 1, np.nan, 1]),
        (("active", "inactive"), {"positive": ("inactive",)}, "active", "inactive", [0, 1]),
        (("b", "a", "", "a"), {"task": "classification"}, "a", "b", [1, 0, np.nan, 0]),
        (("No", "Yes"), {}, "No", "Yes", [0, 1]),
        (("-1", "1", "-1"), {"task": "classification"}, "-1", "1", [0, 1, 0]),
        (("2", "10"), {"task": "classification"}, "2", "10", [0, 1]),
        (("0", "1", "1"), {"positive": ("0",)}, "1", "0", [1, 0, 0]),
    ],
)
def test_two_classes_are_yes_or_no(tmp_path, cells, options, negative, positive, labels):
    file = table(tmp_path, "smiles,y\n" + "".join(f"{'C' * (i + 1)},{cell}\n" for i, cell in enumerate(cells)))
    source, run, _, notes = runs(CSVRequest(file=file, targets=("y",), fractions=(1, 0, 0), **options))
    task = source.schema.task
    assert (task.kind, task.metric, task.num_outputs, task.classes) == ("binary", "rocauc", 1, ())
    assert (task.negative, task.positive) == ((negative,), (positive,))
    np.testing.assert_array_equal(run.label.ravel(), labels)
    assert any(note.startswith(f"column 'y': the positive class is {positive} (") for note in notes)
    assert task.output_columns() == ["probability_y" if positive == "1" else f"probability_y_{positive}"]


def test_several_targets_of_two_classes(tmp_path):
    file = table(tmp_path, "smiles,a,b,c\nC,yes,0,low\nCC,no,1,high\nCCC,,,low\n")
    source, run, _, notes = runs(CSVRequest(file=file, targets=("a", "b", "c"), fractions=(1, 0, 0)))
    assert source.schema.task.positive == ("yes", "1", "high")
    np.testing.assert_array_equal(run.label, [[1, 0, 0], [0, 1, 1], [np.nan, np.nan, 0]])
    assert notes[0] == "task inferred from the targets: classification (every target has two classes)"
    assert source.schema.task.output_columns() == ["probability_a_yes", "probability_b", "probability_c_high"]


@pytest.mark.parametrize("values", [(-1, 1), (1, 2), (0, 1, 2), (1.0, 3.0)])
def test_few_whole_numbers_may_be_classes(tmp_path, values):
    file = table(tmp_path, "smiles,y\n" + "".join(f"C,{values[i % len(values)]}\n" for i in range(12)))
    source, notes = csv_source(CSVRequest(file=file, targets=("y",)))
    assert source.schema.task.kind == "regression"
    shown = ", ".join(f"{value:g}" for value in values)
    assert notes[1] == f"column 'y' has no other values than {shown}; they may be classes"
    assert notes[1].hint == "as_classes"
    assert len(csv_source(CSVRequest(file=file, targets=("y",), task="regression"))[1]) == 0


def test_salts_are_counted_and_standardised_if_asked(tmp_path):
    file = table(tmp_path, "smiles,y,s\nCC(=O)[O-].[Na+],1.5,train\nCC(=O)O,2,test\nCl.CN,3,train\n")
    options = {"file": file, "targets": ("y",), "split": "column", "split_column": "s"}
    source, run, _, notes = runs(CSVRequest(**options))
    assert run.num_nodes.tolist() == [5, 4, 3] and not source.schema.standardised_molecules
    assert notes[1] == "2 molecules have several fragments (salts, mixtures), which are kept as they are"
    assert notes[1].hint == "standardise"
    source, run, _, notes = runs(CSVRequest(**options, standardise=True))
    assert run.num_nodes.tolist() == [4, 4, 2] and source.schema.standardised_molecules
    assert notes[1].endswith("the largest is kept, without charges where possible") and source.settings["standardise"]
    assert notes[2] == "1 molecule occurs in more than one split (same canonical SMILES)"


def test_weights_of_rows(tmp_path):
    file = table(tmp_path, "smiles;y;w\nC;1,5;0,5\nC(;1;1\nCC;2;3\nCCC;4,5;0\n")
    request = CSVRequest(file=file, targets=("y",), weight_column="w", numbers=NumberFormat(","), fractions=(1, 0, 0))
    source, notes = csv_source(request)
    assert "column 'w': weights from 0 to 3, mean 1.125; they count in the training loss, not in metrics" in notes
    preprocess(source, tmp_path / "d")
    store = Store(tmp_path / "d")
    assert store.weight.tolist() == [0.5, 3, 0] and source.settings["weight_column"] == "w"
    store.verify()
    for cells, message in (
        ("C,1,-1\n", "row 0.*column 'w': '-1'; accepted for a weight"),
        ("C,1,\n", "accepted for a weight"),
    ):
        with pytest.raises(InputError, match=message):
            csv_source(CSVRequest(file=table(tmp_path, "smiles,y,w\n" + cells), targets=("y",), weight_column="w"))
    with pytest.raises(InputError, match="every weight of column 'w' is 0"):
        csv_source(CSVRequest(file=table(tmp_path, "smiles,y,w\nC,1,0\n"), targets=("y",), weight_column="w"))
