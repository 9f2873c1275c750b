import os
import signal
import subprocess
import sys
import threading

import pytest

from grpe_dgl.errors import InputError
from grpe_dgl.io.atomic_file import atomic_file, write_text
from grpe_dgl.io.lock import exclusive

WRITE_AND_WAIT = (
    "import sys, time; from pathlib import Path; from grpe_dgl.io.atomic_file import atomic_file\n"
    "with atomic_file(Path(sys.argv[1])) as temporary:\n"
    "    temporary.write_text('half'); print('written', flush=True); time.sleep(600)"
)
LOCK_AND_WAIT = (
    "import sys, time; from pathlib import Path; from grpe_dgl.io.lock import exclusive\n"
    "with exclusive(Path(sys.argv[1]), what='is training'): print('locked', flush=True); time.sleep(600)"
)


def start(program, path):
    process = subprocess.Popen([sys.executable, "-c", program, path], stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline().strip() in ("written", "locked")
    return process


def end(process):
    process.send_signal(signal.SIGKILL)
    process.wait()
    process.stdout.close()


def temporaries(folder):
    return [file.name for file in folder.iterdir() if file.name.endswith(".tmp")]


def test_what_a_killed_process_left_is_removed_by_the_next(tmp_path):
    process = start(WRITE_AND_WAIT, tmp_path / "o.csv")
    other = tmp_path / ".another.csv.01234567.tmp"
    other.write_text("of another file")
    try:
        write_text(tmp_path / "o.csv", "second")  # the first process lives: its file stays
        assert len(temporaries(tmp_path)) == 2
    finally:
        end(process)
    assert len(temporaries(tmp_path)) == 2
    write_text(tmp_path / "o.csv", "third")
    assert temporaries(tmp_path) == [other.name]
    assert (tmp_path / "o.csv").read_text() == "third"


def test_of_two_that_must_not_replace_one_fails(tmp_path):
    path = tmp_path / "o.csv"
    both = threading.Barrier(2)
    outcomes = []

    def write(text):
        try:
            with atomic_file(path, replace=False) as temporary:
                temporary.write_text(text)
                both.wait(timeout=60)
            outcomes.append(text)
        except InputError as error:
            outcomes.append(str(error))

    threads = [threading.Thread(target=write, args=(text,)) for text in ("first", "second")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert path.read_text() in outcomes
    assert sum("exists already: another process has written it" in outcome for outcome in outcomes) == 1
    assert os.listdir(tmp_path) == ["o.csv"]


def test_a_folder_is_locked_until_its_process_is_killed(tmp_path):
    process = start(LOCK_AND_WAIT, tmp_path)
    try:
        with pytest.raises(InputError, match="another process is training in "):
            with exclusive(tmp_path, what="is training"):
                pass
    finally:
        end(process)
    assert os.listdir(tmp_path) == [".lock"]
    with exclusive(tmp_path, what="is training"):
        pass
    assert os.listdir(tmp_path) == []
