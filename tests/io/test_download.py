import http.server
import socket
import threading
import zipfile

import pytest

from grpe_dgl.errors import InputError
from grpe_dgl.io.download import extract_zip, fetch, fetch_folder


class Handler(http.server.BaseHTTPRequestHandler):
    """Serves `files`; answers ranges unless told not to; cuts answers off after `cut` bytes."""

    files: dict[str, bytes] = {}
    ranges = True
    cut: int | None = None
    asked: list[str | None] = []

    def do_GET(self):
        body, wanted = self.files.get(self.path), self.headers.get("Range")
        self.asked.append(wanted)
        if body is None:
            return self.send_error(404)
        begin = int(wanted.removeprefix("bytes=").rstrip("-")) if wanted and self.ranges else 0
        if begin >= len(body):
            return self.send_error(416)
        self.send_response(206 if begin else 200)
        self.send_header("Content-Length", str(len(body) - begin))
        self.end_headers()
        self.wfile.write(body[begin:][: self.cut])

    def log_message(self, *args):
        pass


@pytest.fixture
def server():
    Handler.files, Handler.ranges, Handler.cut, Handler.asked = {}, True, None, []
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as httpd:
        threading.Thread(target=httpd.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{httpd.server_address[1]}"
        httpd.shutdown()


def archive(tmp_path, members):
    path = tmp_path / "made.zip"
    with zipfile.ZipFile(path, "w") as file:
        for name, text in members.items():
            file.writestr(name, text)
    return path.read_bytes()


def test_fetches_once_with_progress(server, tmp_path):
    Handler.files = {"/a.bin": b"x" * 3_000_000}
    seen = []
    target = fetch(
        f"{server}/a.bin", tmp_path / "new" / "a.bin", progress=lambda have, total: seen.append((have, total))
    )
    assert target.read_bytes() == Handler.files["/a.bin"]
    assert seen[-1] == (3_000_000, 3_000_000) and len(seen) > 1
    fetch(f"{server}/a.bin", target)
    assert len(Handler.asked) == 1
    assert [path.name for path in target.parent.iterdir()] == ["a.bin"]


@pytest.mark.parametrize("ranges", [True, False])
def test_goes_on_where_it_was_cut_off(server, tmp_path, ranges):
    Handler.files, Handler.cut = {"/a.bin": bytes(range(250)) * 4}, 300
    with pytest.raises(InputError, match="300 of 1,000 bytes"):
        fetch(f"{server}/a.bin", tmp_path / "a.bin")
    assert not (tmp_path / "a.bin").exists()
    Handler.cut, Handler.ranges = None, ranges
    assert fetch(f"{server}/a.bin", tmp_path / "a.bin").read_bytes() == Handler.files["/a.bin"]
    assert Handler.asked == [None, "bytes=300-"] + ([] if ranges else [None])


def test_a_part_longer_than_the_file_is_started_anew(server, tmp_path):
    Handler.files = {"/a.bin": b"short"}
    (tmp_path / "a.bin.part").write_bytes(b"longer than that")
    assert fetch(f"{server}/a.bin", tmp_path / "a.bin").read_bytes() == b"short"


def test_no_network_names_file_address_and_place(tmp_path):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}/hiv.zip"
    with pytest.raises(InputError) as error:
        fetch_folder(url, tmp_path / "ogbg_molhiv", inside="hiv", needed="raw/edge.csv.gz")
    for text in (url, str(tmp_path / "ogbg_molhiv" / "raw" / "edge.csv.gz"), str(tmp_path / "hiv.zip")):
        assert text in str(error.value)


def test_not_found(server, tmp_path):
    with pytest.raises(InputError, match="Not Found"):
        fetch(f"{server}/a.bin", tmp_path / "a.bin")


def test_a_damaged_archive_is_thrown_away(server, tmp_path):
    Handler.files = {"/a.zip": b"<html>maintenance</html>"}
    with pytest.raises(InputError, match="not a whole zip archive"):
        fetch(f"{server}/a.zip", tmp_path / "a.zip")
    assert list(tmp_path.iterdir()) == []


def test_fetch_folder(server, tmp_path):
    Handler.files = {"/hiv.zip": archive(tmp_path, {"hiv/raw/edge.csv.gz": "1", "hiv/split/x": "2"})}
    folder = tmp_path / "raw" / "ogbg_molhiv"
    for _ in range(2):
        fetch_folder(f"{server}/hiv.zip", folder, inside="hiv", needed="raw/edge.csv.gz")
    assert (folder / "split" / "x").read_text() == "2"
    assert [path.name for path in folder.parent.iterdir()] == ["ogbg_molhiv"]
    assert len(Handler.asked) == 1


def test_fetch_folder_without_the_folder_inside(server, tmp_path):
    Handler.files = {"/hiv.zip": archive(tmp_path, {"other/x": "1"})}
    with pytest.raises(InputError, match="holds no hiv/raw/edge.csv.gz"):
        fetch_folder(f"{server}/hiv.zip", tmp_path / "m", inside="hiv", needed="raw/edge.csv.gz")
    assert not (tmp_path / "m").exists()


@pytest.mark.parametrize("name", ["../evil", "/evil", "a/../../evil", "..\\evil", "C:\\evil"])
def test_paths_outside_the_folder_are_refused(tmp_path, name):
    path = tmp_path / "bad.zip"
    path.write_bytes(archive(tmp_path, {"good": "1", name: "2"}))
    with pytest.raises(InputError, match="leads outside"):
        extract_zip(path, tmp_path / "to")
    assert not (tmp_path / "to").exists()


def test_links_are_refused(tmp_path):
    with zipfile.ZipFile(tmp_path / "bad.zip", "w") as file:
        link = zipfile.ZipInfo("link")
        link.external_attr = 0o120777 << 16
        file.writestr(link, "/etc")
    with pytest.raises(InputError, match="is a link"):
        extract_zip(tmp_path / "bad.zip", tmp_path / "to")
    assert not (tmp_path / "to").exists()


def test_an_encrypted_archive_is_refused(tmp_path):
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr("x.txt", "text")
    content = bytearray((tmp_path / "a.zip").read_bytes())
    for header, flags in ((b"PK\3\4", 6), (b"PK\1\2", 8)):
        content[content.index(header) + flags] |= 1
    (tmp_path / "a.zip").write_bytes(content)
    with pytest.raises(InputError, match="a.zip is refused: 'x.txt' is encrypted"):
        extract_zip(tmp_path / "a.zip", tmp_path / "out")


def test_an_unknown_method_is_refused(tmp_path):
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr("x.txt", "text")
    content = bytearray((tmp_path / "a.zip").read_bytes())
    for header, method in ((b"PK\3\4", 8), (b"PK\1\2", 10)):
        content[content.index(header) + method] = 99
    (tmp_path / "a.zip").write_bytes(content)
    with pytest.raises(InputError, match="a.zip is refused: 'x.txt' is compressed with method 99"):
        extract_zip(tmp_path / "a.zip", tmp_path / "out")


def test_a_bomb_is_refused_before_it_is_unpacked(tmp_path):
    with zipfile.ZipFile(tmp_path / "a.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("x.txt", bytes(80 << 20))
    with pytest.raises(InputError, match="it unpacks to 83,886,080 bytes; accepted: .* 200 times the size"):
        extract_zip(tmp_path / "a.zip", tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_every_flipped_bit_of_a_small_archive(tmp_path):
    """The archive is refused or its content is what it was; nothing else is raised."""
    with zipfile.ZipFile(tmp_path / "a.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("x.txt", "text " * 20)
    content = (tmp_path / "a.zip").read_bytes()
    for bit in range(0, 8 * len(content), 3):
        changed = bytearray(content)
        changed[bit // 8] ^= 1 << bit % 8
        (tmp_path / "b.zip").write_bytes(changed)
        try:
            extract_zip(tmp_path / "b.zip", tmp_path / f"out{bit}")
        except InputError:
            continue
        assert [file.read_text() for file in (tmp_path / f"out{bit}").iterdir()] == ["text " * 20]
