import csv
import gzip
import io

import numpy as np
import pytest

import grpe_dgl
import grpe_dgl.data
from grpe_dgl_cli.commands import predict as command
from tests import trained
from tests.cli.invoke import grpe
from tests.data.random_graphs import NODE_VOCABULARY, NUM_EDGE_TYPES, random_graphs

TABLE = 'name,smiles,error\n"a, b",CCO,\nbroken,C1CC,x\nlast,c1ccccc1,\n'


def predict(*arguments, code=0):
    return grpe("predict", *arguments, code=code)


def read(text):
    return list(csv.DictReader(io.StringIO(text)))


@pytest.fixture
def model(tmp_path):
    return trained.save(tmp_path / "model.ckpt")


def test_smiles_as_arguments(model):
    result = predict(model, "CCO", "c1ccccc1")
    rows = read(result.stdout)
    expected = grpe_dgl.load(model).predict(["CCO", "c1ccccc1"])[:, 0]
    np.testing.assert_allclose([float(row["predicted_logS"]) for row in rows], expected, rtol=1e-5)
    assert [row["smiles"] for row in rows] == ["CCO", "c1ccccc1"] and rows[0]["error"] == ""


@pytest.mark.parametrize("name", ["x.csv", "x.csv.gz"])
def test_a_table_keeps_every_row_and_column(model, tmp_path, name):
    content = TABLE.encode()
    (tmp_path / name).write_bytes(gzip.compress(content) if name.endswith("gz") else content)
    out = tmp_path / "out.csv"
    result = predict(model, tmp_path / name, "--out", out)
    assert "3 molecules, 1 without a prediction (reasons in the column error_2)" in result.output
    rows = read(out.read_text())
    assert list(rows[0]) == ["name", "smiles", "error", "predicted_logS", "error_2"]
    assert [row["name"] for row in rows] == ["a, b", "broken", "last"] and rows[1]["error"] == "x"
    assert rows[1]["predicted_logS"] == "" and "'C1CC' cannot be read" in rows[1]["error_2"]
    expected = grpe_dgl.load(model).predict(["CCO", "c1ccccc1"])[:, 0]
    np.testing.assert_allclose([float(rows[i]["predicted_logS"]) for i in (0, 2)], expected, rtol=1e-5)


def test_smi_file_to_parquet(model, tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    (tmp_path / "x.smi").write_text("CCO ethanol\nnope nothing\n")
    predict(model, tmp_path / "x.smi", "--out", tmp_path / "x.parquet")
    columns = parquet.read_table(tmp_path / "x.parquet").to_pydict()
    assert columns["2"] == ["ethanol", "nothing"] and columns["predicted_logS"][1] is None
    assert columns["error"][0] is None and "not a SMILES" in columns["error"][1]


def test_an_ensemble_gives_mean_and_spread(model, tmp_path):
    other = trained.save(tmp_path / "other.ckpt", seed=1, overrides={"model.max_distance": 3})
    rows = read(predict(model, other, "CCO").stdout)
    each = [float(grpe_dgl.load(path).predict(["CCO"])[0, 0]) for path in (model, other)]
    assert float(rows[0]["predicted_logS"]) == pytest.approx(np.mean(each), rel=1e-5)
    assert float(rows[0]["predicted_logS_spread"]) == pytest.approx(np.std(each, ddof=1), rel=1e-3)


def test_classes_are_named(tmp_path):
    rows = read(predict(trained.save(tmp_path / "x.ckpt", trained.CLASSES), "CCO").stdout)
    chances = {name: float(rows[0][f"probability_{name}"]) for name in ("red", "green", "blue")}
    assert sum(chances.values()) == pytest.approx(1.0, abs=1e-5)
    assert rows[0]["predicted_colour"] == max(chances, key=chances.get)


def test_a_processed_dataset_with_a_task_per_node(tmp_path):
    graphs = random_graphs(7, node_labels=True)
    splits = {"train": [0, 1, 2, 3], "valid": [6], "test": [5, 4]}
    grpe_dgl.data.write(tmp_path / "nodes", graphs, None, splits, task="multiclass", num_edge_types=NUM_EDGE_TYPES,
                        node_vocabulary=NODE_VOCABULARY)  # fmt: skip
    schema = grpe_dgl.data.load(tmp_path / "nodes").schema
    model = trained.save(tmp_path / "x.ckpt", schema=schema)
    result = predict(model, tmp_path / "nodes", "--split", "test")
    rows = read(result.stdout)
    assert [row["graph"] for row in rows] == ["5"] * graphs[5].num_nodes() + ["4"] * graphs[4].num_nodes()
    assert [int(row["node"]) for row in rows] == [*range(graphs[5].num_nodes()), *range(graphs[4].num_nodes())]
    assert {row["split"] for row in rows} == {"test"}
    everything = read(predict(model, tmp_path / "nodes").stdout)
    assert len(everything) == sum(graph.num_nodes() for graph in graphs)
    assert [row for row in everything if row["graph"] == "5"] == rows[: graphs[5].num_nodes()]
    assert "not made of SMILES; accepted: a processed dataset" in predict(model, "CCO", code=1).output
    other = trained.save(tmp_path / "y.ckpt")
    assert "--smiles goes with a table" in predict(other, tmp_path / "nodes", "--smiles", "s", code=2).output
    assert "--max-nodes goes with molecules" in predict(other, tmp_path / "nodes", "--max-nodes", 9, code=2).output
    wrong = predict(other, tmp_path / "nodes", code=1)
    assert "do not fit: vocabulary is 'ogb' for the model, 'custom' there" in wrong.output


def test_existing_output_is_kept(model, tmp_path):
    out = tmp_path / "out.csv"
    out.write_text("precious")
    assert "exists already; --force overwrites it" in predict(model, "CCO", "--out", out, code=1).output
    assert out.read_text() == "precious"
    predict(model, "CCO", "--out", out, "--force")
    assert out.read_text().startswith("smiles,")


def test_a_broken_table_leaves_nothing(model, tmp_path):
    (tmp_path / "x.csv").write_text("smiles,b\nCCO,1\nCCO\n")
    result = predict(model, tmp_path / "x.csv", "--out", tmp_path / "out.csv", code=1)
    assert "row 1 (line 3): 1 cell; accepted: 2" in result.output
    assert sorted(path.name for path in tmp_path.iterdir()) == ["model.ckpt", "x.csv"]


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["{model}"], 2, "no input; give a table"),
        (["{model}", "x.csv", "CCO"], 2, "accepted: one table"),
        (["{model}", "CCO", "--out", "x.txt"], 2, "accepted: a name that ends in .csv"),
        (["{model}", "CCO", "--split", "test"], 2, "--split goes with a processed dataset"),
        (["{model}", "{table}", "--split", "test"], 2, "--split goes with a processed dataset"),
        (["{model}", "CCO", "--smiles", "smiles"], 2, "--smiles goes with a table"),
        (["{model}", "CCO", "--force"], 2, "--force goes with --out"),
        (["{model}", "CCO", "--workers", "0"], 2, "0 is not in the range x>=1"),
        (["{model}", "x.csv", "--out", "y.csv"], 1, "x.csv cannot be read: No such file"),
        (["{model}", "{notes}"], 1, "notes.txt has no column 'smiles'; it has 'text'"),
        (["{model}", "{old}"], 1, "accepted: a table"),
        (["{model}", "{table}", "--sheet", "1"], 1, "is not an Excel workbook"),
        (["{model}", "CCO", "--sheet", "1"], 2, "--sheet goes with an Excel workbook"),
        (["{notes}", "CCO"], 1, "is not a checkpoint: found another kind of file"),
        (["{model}", "{table}", "--smiles", "SMILE"], 1, "has no column 'SMILE'"),
        (
            ["{model}", "{binary}", "CCO"],
            1,
            "do not fit: the task's kind is 'regression' for the model, 'binary' there",
        ),
        (["{model}", "CCO", "--out", "none/x.csv"], 1, "there is no folder none"),
        (["{model}", "CCO", "--device", "mps"], 2, "accepted: auto, cpu, cuda"),
        (["{model}", "CCO", "--device", "cuda:99"], 1, "CUDA devices found; accepted: cpu, auto"),
    ],
)
def test_errors(model, tmp_path, arguments, code, message):
    files = {"model": model, "notes": tmp_path / "notes.txt", "table": tmp_path / "t.csv"}
    files["notes"].write_text("text")
    files["old"] = tmp_path / "old.xls"
    files["old"].write_bytes(b"old")
    files["table"].write_text("smiles\nCCO\n")
    files["binary"] = trained.save(tmp_path / "binary.ckpt", trained.BINARY)
    result = predict(*(argument.format(**files) for argument in arguments), code=code)
    assert message in result.output


def test_paths_and_smiles_are_distinguished(model, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "CC").mkdir()
    long = "C" * 300  # longer than a file's name may be
    rows = read(predict(model, "CC", "C/C=C/C", "", long).stdout)
    assert [row["smiles"] for row in rows] == ["CC", "C/C=C/C", "", long]
    assert [bool(row["error"]) for row in rows] == [False, False, True, False]
    assert len(read(predict(model, "data/esol").stdout)) == 1  # no such folder as data: a row with an error
    for name in ("CC/esol", "x.json"):
        result = predict(model, name, "--out", "z.csv", code=1)
        assert f"{name}: there is no such file or folder, and it" in result.output
    (tmp_path / "x.xlsx").write_bytes(b"PK")
    assert "x.xlsx is not an Excel workbook" in predict(model, "x.xlsx", code=1).output
    (tmp_path / "t.csv").write_text("smiles\nCCO\n")
    assert "the checkpoint comes first" in predict("t.csv", model, code=2).output
    (tmp_path / "runs").mkdir()
    trained.save(tmp_path / "runs" / "best.ckpt")
    assert "its best model so far is runs/best.ckpt" in predict("runs", "t.csv", code=1).output


def test_the_column_of_molecules_in_any_case(model, tmp_path):
    (tmp_path / "t.csv").write_text("Id,SMILES\n1,CCO\n")
    assert len(read(predict(model, tmp_path / "t.csv").stdout)) == 1
    (tmp_path / "t.csv").write_text("Smiles,SMILES\nC,CCO\n")
    assert "has 2 columns of SMILES, 'Smiles', 'SMILES'" in predict(model, tmp_path / "t.csv", code=1).output


def test_an_output_that_is_not_a_number(tmp_path):
    saved = trained.checkpoint()
    saved.weights["head.0.bias"].fill_(float("nan"))
    saved.save(tmp_path / "nan.ckpt")
    result = predict(tmp_path / "nan.ckpt", "CCO")
    (row,) = read(result.stdout)
    assert row["predicted_logS"] == "" and row["error"] == "the model's output is not a number"
    assert "1 molecule, 1 without a prediction" in result.stderr


def test_rows_that_a_dataset_skipped_are_counted(model, tmp_path):
    (tmp_path / "t.csv").write_text("smiles,logS\n" + "CCO,1\nCC,2\nCCC,3\n" * 4 + "broken,1\n")
    grpe("preprocess", "csv", tmp_path / "t.csv", "--target", "logS", "--data", tmp_path)
    result = predict(model, tmp_path / "t")
    assert len(read(result.stdout)) == 12 and "1 row of its source became no graph" in result.stderr


def test_columns_of_one_name_in_parquet(model, tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    (tmp_path / "t.csv").write_text("smiles,a,a\nCCO,1,2\n")
    predict(model, tmp_path / "t.csv", "--out", tmp_path / "x.parquet")
    found = parquet.read_table(tmp_path / "x.parquet").to_pydict()
    assert list(found) == ["smiles", "a", "a_2", "predicted_logS", "error"] and found["a_2"] == [2]


def test_parquet_keeps_the_types_of_columns(model, tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    (tmp_path / "t.csv").write_text("smiles,id,mass,code,flag,gap\nCCO,1,46.07,007,x,\nC,2,16,12,,3\n")
    predict(model, tmp_path / "t.csv", "--out", tmp_path / "x.parquet")
    table = parquet.read_table(tmp_path / "x.parquet")
    kinds = {field.name: str(field.type) for field in table.schema}
    assert kinds == {
        "smiles": "string", "id": "int64", "mass": "double", "code": "string", "flag": "string", "gap": "int64",
        "predicted_logS": "float", "error": "string",
    }  # fmt: skip
    found = table.to_pydict()
    assert (found["id"], found["mass"], found["code"]) == ([1, 2], [46.07, 16.0], ["007", "12"])
    assert (found["flag"], found["gap"]) == (["x", ""], [None, 3])


def test_a_processed_table_keeps_smiles_and_labels(model, tmp_path):
    rows = [("OCC", "1.5", "train"), ("C(", "2", "train"), ("C[C@H](N)O", "", "valid"), ("CCN", "2.25", "test")]
    (tmp_path / "t.csv").write_text("smiles,y,set\n" + "".join(",".join(row) + "\n" for row in rows))
    grpe("preprocess", "csv", "t.csv", "--target", "y", "--split-column", "set", folder=tmp_path)
    predict(model, tmp_path / "data" / "t", "--out", tmp_path / "o.csv")
    found = read((tmp_path / "o.csv").read_text())
    assert list(found[0]) == ["graph", "row", "split", "smiles", "y", "predicted_logS", "error"]
    assert [(row["row"], row["smiles"], row["y"]) for row in found] == [
        ("0", "OCC", "1.5"), ("2", "C[C@H](N)O", ""), ("3", "CCN", "2.25"),
    ]  # fmt: skip
    direct = read(predict(model, "OCC", "C[C@H](N)O", "CCN").stdout)
    for one, other in zip(found, direct, strict=True):
        assert float(one["predicted_logS"]) == pytest.approx(float(other["predicted_logS"]), rel=1e-5)


@pytest.mark.parametrize(
    ("cells", "option"), [(("no", "yes", "yes"), ()), (("a", "b", "c"), ("--task", "classification"))]
)
def test_labels_of_a_processed_table_have_their_names(tmp_path, cells, option):
    (tmp_path / "t.csv").write_text("smiles,y\n" + "".join(f"{'C' * (i + 1)},{cell}\n" for i, cell in enumerate(cells)))
    grpe("preprocess", "csv", "t.csv", "--target", "y", "--fractions", "1,0,0", *option, folder=tmp_path)
    data = grpe_dgl.data.load(tmp_path / "data" / "t")
    saved = trained.save(tmp_path / "x.ckpt", schema=data.schema)
    predict(saved, tmp_path / "data" / "t", "--out", tmp_path / "o.csv")
    found = read((tmp_path / "o.csv").read_text())
    assert [row["y"] for row in found] == list(cells)
    assert all(name in found[0] for name in data.task.output_columns())


def test_a_file_that_another_process_wrote_meanwhile_stays(model, tmp_path, monkeypatch):
    out = tmp_path / "out.csv"
    follow = command.follow

    def meanwhile(*arguments):
        out.write_text("of the other process")
        return follow(*arguments)

    monkeypatch.setattr(command, "follow", meanwhile)
    result = predict(model, "CCO", "--out", out, code=1)
    assert "out.csv exists already: another process has written it meanwhile" in result.output
    assert out.read_text() == "of the other process"
    predict(model, "CCO", "--out", out, "--force")
    assert out.read_text().startswith("smiles,")


def test_what_rdkit_raises_for_one_row_is_that_rows_error(model, tmp_path):
    (tmp_path / "x.csv").write_text("smiles\nCCO\n[CH128]\n[CH1000]\nCC\n")
    predict(model, tmp_path / "x.csv", "--out", tmp_path / "out.csv")
    rows = read((tmp_path / "out.csv").read_text())
    assert [bool(row["predicted_logS"]) for row in rows] == [True, False, False, True]
    assert "'[CH128]' cannot be read: RDKit fails with" in rows[1]["error"]
