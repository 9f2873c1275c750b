import csv
import gzip
import io
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import grpe_dgl
import grpe_dgl.data
from grpe_dgl_cli.main import main
from tests import trained
from tests.data.random_graphs import NODE_VOCABULARY, NUM_EDGE_TYPES, random_graphs

TABLE = 'name,smiles,error\n"a, b",CCO,\nbroken,C1CC,x\nlast,c1ccccc1,\n'


def predict(*arguments):
    return CliRunner().invoke(main, ["predict", *map(str, arguments)])


def read(text):
    return list(csv.DictReader(io.StringIO(text)))


@pytest.fixture
def model(tmp_path):
    return trained.save(tmp_path / "model.ckpt")


def test_smiles_as_arguments(model):
    result = predict(model, "CCO", "c1ccccc1")
    assert result.exit_code == 0, result.output
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
    assert result.exit_code == 0, result.output
    assert "3 molecules, 1 without a prediction (column error_2 says why)" in result.output
    rows = read(out.read_text())
    assert list(rows[0]) == ["name", "smiles", "error", "predicted_logS", "error_2"]
    assert [row["name"] for row in rows] == ["a, b", "broken", "last"] and rows[1]["error"] == "x"
    assert rows[1]["predicted_logS"] == "" and "'C1CC' cannot be read" in rows[1]["error_2"]
    expected = grpe_dgl.load(model).predict(["CCO", "c1ccccc1"])[:, 0]
    np.testing.assert_allclose([float(rows[i]["predicted_logS"]) for i in (0, 2)], expected, rtol=1e-5)


def test_smi_file_to_parquet(model, tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    (tmp_path / "x.smi").write_text("CCO ethanol\nnope nothing\n")
    result = predict(model, tmp_path / "x.smi", "--out", tmp_path / "x.parquet")
    assert result.exit_code == 0, result.output
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
    assert result.exit_code == 0, result.output
    rows = read(result.stdout)
    assert [row["graph"] for row in rows] == ["5"] * graphs[5].num_nodes() + ["4"] * graphs[4].num_nodes()
    assert [int(row["node"]) for row in rows] == [*range(graphs[5].num_nodes()), *range(graphs[4].num_nodes())]
    assert {row["split"] for row in rows} == {"test"}
    everything = read(predict(model, tmp_path / "nodes").stdout)
    assert len(everything) == sum(graph.num_nodes() for graph in graphs)
    assert [row for row in everything if row["graph"] == "5"] == rows[: graphs[5].num_nodes()]
    wrong = predict(model, "CCO")
    assert wrong.exit_code == 1 and "not made of SMILES" in wrong.output
    wrong = predict(trained.save(tmp_path / "y.ckpt"), tmp_path / "nodes")
    assert wrong.exit_code == 1 and "do not fit: vocabulary is 'ogb' for the model, 'custom' there" in wrong.output


def test_existing_output_is_kept(model, tmp_path):
    out = tmp_path / "out.csv"
    out.write_text("precious")
    result = predict(model, "CCO", "--out", out)
    assert result.exit_code == 1 and "exists already; --force overwrites it" in result.output
    assert out.read_text() == "precious"
    assert predict(model, "CCO", "--out", out, "--force").exit_code == 0
    assert out.read_text().startswith("smiles,")


def test_a_broken_table_leaves_nothing(model, tmp_path):
    (tmp_path / "x.csv").write_text("smiles,b\nCCO,1\nCCO\n")
    result = predict(model, tmp_path / "x.csv", "--out", tmp_path / "out.csv")
    assert result.exit_code == 1 and "row 1 (line 3): 1 cells; accepted: 2" in result.output
    assert sorted(path.name for path in tmp_path.iterdir()) == ["model.ckpt", "x.csv"]


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["{model}"], 2, "nothing to work on"),
        (["{model}", "x.csv", "CCO"], 2, "accepted: one table"),
        (["{model}", "CCO", "--out", "x.txt"], 2, "accepted: a name that ends in .csv"),
        (["{model}", "CCO", "--split", "test"], 2, "--split goes with a processed dataset"),
        (["{model}", "x.csv", "--out", "y.csv"], 1, "x.csv cannot be read: No such file"),
        (["{model}", "{notes}"], 1, "accepted: a table"),
        (["{notes}", "CCO"], 1, "is not a checkpoint: found another kind of file"),
        (["{model}", "{table}", "--smiles", "SMILE"], 1, "has no column 'SMILE'"),
        (
            ["{model}", "{binary}", "CCO"],
            1,
            "do not fit: the task's kind is 'regression' for the model, 'binary' there",
        ),
        (["{model}", "CCO", "--out", "none/x.csv"], 1, "there is no folder none"),
        (["{model}", "CCO", "--device", "mps"], 2, "accepted: auto, cpu, cuda"),
        (["{model}", "CCO", "--device", "cuda:99"], 1, "CUDA devices here; accepted: cpu, auto"),
    ],
)
def test_errors(model, tmp_path, arguments, code, message):
    files = {"model": model, "notes": tmp_path / "notes.txt", "table": tmp_path / "t.csv"}
    files["notes"].write_text("text")
    files["table"].write_text("smiles\nCCO\n")
    files["binary"] = trained.save(tmp_path / "binary.ckpt", trained.BINARY)
    result = predict(*(argument.format(**files) for argument in arguments))
    assert result.exit_code == code, result.output
    assert message in result.output


@pytest.mark.slow
def test_worker_processes_and_several_chunks_change_nothing(model, tmp_path):
    smiles = ["C" * (1 + i % 9) + "O" * (i % 2) for i in range(4100)]
    smiles[2050] = "nonsense"
    (tmp_path / "x.csv").write_text("smiles,i\n" + "".join(f"{text},{i}\n" for i, text in enumerate(smiles)))
    for workers in (1, 2):
        result = predict(model, tmp_path / "x.csv", "--workers", workers, "--out", tmp_path / f"{workers}.csv")
        assert result.exit_code == 0, result.output
    assert (tmp_path / "1.csv").read_text() == (tmp_path / "2.csv").read_text()
    rows = read((tmp_path / "1.csv").read_text())
    assert [row["i"] for row in rows] == list(map(str, range(4100)))
    assert [i for i, row in enumerate(rows) if row["error"]] == [2050]


def test_names_and_smiles_are_told_apart(model, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "CC").mkdir()
    long = "C" * 300  # longer than a file's name may be
    rows = read(predict(model, "CC", "C/C=C/C", "", long).stdout)
    assert [row["smiles"] for row in rows] == ["CC", "C/C=C/C", "", long]
    assert [bool(row["error"]) for row in rows] == [False, False, True, False]
    assert predict(model, "data/esol").exit_code == 0  # no such folder as data: a row with an error
    for name in ("CC/esol", "x.tsv"):
        result = predict(model, name, "--out", "z.csv")
        assert result.exit_code == 1 and f"{name}: there is no such file or folder, and it" in result.output
    (tmp_path / "x.xlsx").write_bytes(b"PK")
    assert "x.xlsx: accepted: a table" in predict(model, "x.xlsx").output
    (tmp_path / "t.csv").write_text("smiles\nCCO\n")
    swapped = predict("t.csv", model)
    assert swapped.exit_code == 2 and "the checkpoint comes first" in swapped.output
    (tmp_path / "runs").mkdir()
    trained.save(tmp_path / "runs" / "best.ckpt")
    assert "did you mean runs/best.ckpt?" in predict("runs", "t.csv").output


def test_the_column_of_molecules_in_any_case(model, tmp_path):
    (tmp_path / "t.csv").write_text("Id,SMILES\n1,CCO\n")
    assert predict(model, tmp_path / "t.csv").exit_code == 0
    (tmp_path / "t.csv").write_text("Smiles,SMILES\nC,CCO\n")
    assert "has no column 'smiles'" in predict(model, tmp_path / "t.csv").output


def test_an_output_that_is_no_number_is_told(tmp_path):
    saved = trained.checkpoint()
    saved.weights["head.0.bias"].fill_(float("nan"))
    saved.save(tmp_path / "nan.ckpt")
    result = predict(tmp_path / "nan.ckpt", "CCO")
    (row,) = read(result.stdout)
    assert row["predicted_logS"] == "" and row["error"] == "the model's output is not a number"
    assert "1 molecule, 1 without a prediction" in result.stderr


def test_rows_that_a_dataset_has_skipped_are_told(model, tmp_path):
    (tmp_path / "t.csv").write_text("smiles,logS\n" + "CCO,1\nCC,2\nCCC,3\n" * 4 + "broken,1\n")
    made = ["preprocess", "csv", str(tmp_path / "t.csv"), "--target", "logS", "--data", str(tmp_path)]
    assert CliRunner().invoke(main, made).exit_code == 0
    result = predict(model, tmp_path / "t")
    assert len(read(result.stdout)) == 12 and "1 rows of its source have no graph" in result.stderr


def test_columns_of_one_name_in_parquet(model, tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    (tmp_path / "t.csv").write_text("smiles,a,a\nCCO,1,2\n")
    assert predict(model, tmp_path / "t.csv", "--out", tmp_path / "x.parquet").exit_code == 0
    found = parquet.read_table(tmp_path / "x.parquet").to_pydict()
    assert list(found) == ["smiles", "a", "a_2", "predicted_logS", "error"] and found["a_2"] == ["2"]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["out.csv", "out.csv.gz", "out.parquet"])
def test_a_full_disk_leaves_nothing(model, tmp_path, name):
    with (tmp_path / "t.csv").open("w") as file:
        file.write("smiles,note\n")
        file.writelines(f"CCO,{random.Random(i).randbytes(2000).hex()}\n" for i in range(60))
    words = ["predict", str(model), str(tmp_path / "t.csv"), "--out", str(tmp_path / name)]
    code = f"""
import resource, signal, sys
from grpe_dgl_cli.main import main
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, 50_000))
main({words!r})
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 1 and "Traceback" not in done.stderr, done.stderr
    assert f"{name} could not be written: File too large; nothing is there" in done.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["model.ckpt", "t.csv"]


@pytest.mark.slow
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_interrupted_with_workers_it_leaves_nothing(model, tmp_path, number, code):
    with (tmp_path / "t.csv").open("w") as file:
        file.write("smiles\n" + "c1ccccc1CCNC(=O)c1ccccc1\n" * 200_000)
    words = ["predict", model, tmp_path / "t.csv", "--workers", 2, "--out", tmp_path / "out.csv"]
    process = subprocess.Popen([sys.executable, "-m", "grpe_dgl", *map(str, words)], stderr=subprocess.PIPE, text=True)
    while not list(tmp_path.glob(".out.csv.*")):  # it has begun to write
        assert process.poll() is None
        time.sleep(0.1)
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    workers = children.read_text().split() if children.exists() else []
    process.send_signal(number)
    assert process.wait(60) == code and "Traceback" not in process.stderr.read()
    process.stderr.close()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["model.ckpt", "t.csv"]
    end = time.monotonic() + 30  # what counts multiprocessing's resources ends by itself a moment later
    while alive := [pid for pid in workers if Path(f"/proc/{pid}").exists()]:
        assert time.monotonic() < end, alive
        time.sleep(0.1)


PEAK = """
import sys
from pathlib import Path
from grpe_dgl_cli.main import main
main(sys.argv[1:], standalone_mode=False)
print(Path("/proc/self/status").read_text())
"""


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads a process's peak memory as Linux tells it")
def test_memory_does_not_grow_with_the_rows(model, tmp_path):
    peaks = {}
    for rows in (2_000, 40_000):
        note = "x" * 4_000  # the long table has 160 MB of it
        with (tmp_path / "x.csv").open("w") as file:
            file.write("smiles,note\n")
            file.writelines(f"CCO,{note}\n" for _ in range(rows))
        words = ["predict", model, tmp_path / "x.csv", "--workers", 1, "--force", "--out", tmp_path / "out.csv"]
        command = [sys.executable, "-c", PEAK, *map(str, words)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        peaks[rows] = int(done.stdout.split("VmHWM:")[1].split()[0])
    with (tmp_path / "out.csv").open() as file:
        assert sum(1 for _ in file) == 40_001
    assert peaks[40_000] - peaks[2_000] < 30_000, f"kB at the most: {peaks}"
