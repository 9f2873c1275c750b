import os
import resource
import subprocess
import sys

import pytest
import torch

import grpe_dgl.data
from grpe_dgl.checkpoint.file import FORMAT, load_checkpoint
from grpe_dgl.errors import InputError
from grpe_dgl.training.run import run
from tests.training.tiny import recipe, write_dataset


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("run")
    data = grpe_dgl.data.load(write_dataset(folder / "data", "regression"))
    run(recipe(training__epochs=1, training__warmup_epochs=0), data, folder / "run")
    return folder / "run"


def test_what_is_saved_is_what_is_loaded(folder):
    saved = load_checkpoint(folder / "best.ckpt")
    assert saved.recipe.training.loss == "l1" and saved.recipe.dataset == "tiny"
    assert saved.schema.task.targets == ("level",) and saved.schema.node_vocabulary == (5, 5)
    assert saved.schema.target_mean[0] > 100
    assert not saved.model().training
    assert load_checkpoint(folder / "last.ckpt").training["update"] == 5


def test_every_shortened_file_is_refused(folder, tmp_path):
    whole = (folder / "best.ckpt").read_bytes()
    for length in (0, 1, 100, len(whole) // 2, len(whole) - 1):
        (tmp_path / "cut.ckpt").write_bytes(whole[:length])
        with pytest.raises(InputError, match="cut.ckpt is not a checkpoint: found"):
            load_checkpoint(tmp_path / "cut.ckpt")


@pytest.mark.parametrize("content", [b"hello\n", b"PK\x03\x04rubbish", b"\x80\x04K\x01."])
def test_other_files_are_refused(tmp_path, content):
    (tmp_path / "other").write_bytes(content)
    with pytest.raises(InputError, match="is not a checkpoint: found .*; accepted: a checkpoint written by grpe-dgl"):
        load_checkpoint(tmp_path / "other")


def test_other_torch_files_are_refused(tmp_path):
    torch.save({"weights": torch.zeros(3)}, tmp_path / "other.pt")
    with pytest.raises(InputError, match="found a torch file without our header"):
        load_checkpoint(tmp_path / "other.pt")
    torch.save({"layers.0.self_attention.linear_q.weight": torch.zeros(3)}, tmp_path / "authors.pt")
    with pytest.raises(InputError, match="found the authors' weights; accepted: a checkpoint written by grpe-dgl"):
        load_checkpoint(tmp_path / "authors.pt")


@pytest.mark.parametrize("change", ["weights", "format_version", "schema", "task"])
def test_a_checkpoint_with_a_part_missing_is_refused(folder, tmp_path, change):
    content = torch.load(folder / "best.ckpt", weights_only=True)
    del (content["schema"] if change == "task" else content)[change]
    torch.save(content, tmp_path / "x.ckpt")
    with pytest.raises(InputError, match="x.ckpt is damaged: "):
        load_checkpoint(tmp_path / "x.ckpt")


def test_weights_of_another_model_are_refused(folder, tmp_path):
    content = torch.load(folder / "best.ckpt", weights_only=True)
    del content["weights"]["virtual_node"]
    torch.save(content, tmp_path / "x.ckpt")
    with pytest.raises(InputError, match="the weights are not those of the recipe beside them: .*virtual_node"):
        load_checkpoint(tmp_path / "x.ckpt").model()


def test_a_newer_format_is_refused(tmp_path):
    torch.save({"format": FORMAT, "format_version": 99, "library_version": "9.9"}, tmp_path / "new.ckpt")
    with pytest.raises(InputError, match="format version 99, written by grpe-dgl 9.9; .* update it"):
        load_checkpoint(tmp_path / "new.ckpt")


class Hostile:
    def __init__(self, command):
        self.command = command

    def __reduce__(self):
        return os.system, (self.command,)


def test_a_hostile_pickle_is_refused_and_does_not_run(tmp_path):
    proof = tmp_path / "ran"
    torch.save({"format": FORMAT, "format_version": 1, "recipe": Hostile(f"touch {proof}")}, tmp_path / "bad.ckpt")
    with pytest.raises(InputError, match="bad.ckpt is not a checkpoint"):
        load_checkpoint(tmp_path / "bad.ckpt")
    assert not proof.exists()
    torch.load(tmp_path / "bad.ckpt", weights_only=False)  # it would have run
    assert proof.exists()


def test_missing_file(tmp_path):
    with pytest.raises(InputError, match="no.ckpt cannot be read: No such file or directory"):
        load_checkpoint(tmp_path / "no.ckpt")


def test_a_full_disk_leaves_the_old_checkpoint(folder, tmp_path):
    """A limit on the size of files stands in for the disk: writing fails half-way, as it does on a full one."""
    target = tmp_path / "kept.ckpt"
    target.write_bytes((folder / "best.ckpt").read_bytes())
    before = target.read_bytes()
    program = (
        "import sys; from pathlib import Path\n"
        "from grpe_dgl.checkpoint.file import load_checkpoint\n"
        "try: load_checkpoint(sys.argv[1]).save(Path(sys.argv[1]))\n"
        "except ValueError as error: print(error)"
    )

    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, 10_000))

    done = subprocess.run(
        [sys.executable, "-B", "-c", program, target],
        preexec_fn=limit,
        capture_output=True,
        text=True,
        env={**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "cache")},
    )
    assert "kept.ckpt could not be written: " in done.stdout and "the previous file is unchanged" in done.stdout
    assert target.read_bytes() == before
    assert [path.name for path in tmp_path.iterdir() if path.suffix == ".tmp"] == []
