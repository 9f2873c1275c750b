"""Damage to processed datasets: at random and directed at every array and every key of the manifest."""

import copy
import json
import shutil

import numpy as np

OFFSETS = ("node_offsets", "edge_offsets", "pair_offsets")
VALUES = (None, True, -1, 0, 1, 3.5, 10**30, "x", "\x1b[2J", [], [0], [-1], {}, {"a": 1}, [[[]]], "nan", 2**31, 2**63)


def random_mutations(source, target, count, seed):
    """Yield `count` times a description, with `source` damaged in `target`: bits, runs of bytes, whole words."""
    rng = np.random.default_rng(seed)
    files = sorted(file.name for file in source.iterdir() if file.suffix in (".bin", ".json"))
    for number in range(count):
        name = files[int(rng.integers(len(files)))]
        content = bytearray((source / name).read_bytes())
        if not content:
            continue
        at = int(rng.integers(len(content)))
        kind = ("bit", "byte", "run", "copy", "bits")[number % 5]
        if kind == "bit":
            content[at] ^= 1 << int(rng.integers(8))
        elif kind == "byte":
            content[at] = int(rng.choice([0, 1, 127, 128, 254, 255]))
        elif kind == "run":
            length = int(rng.integers(1, 9))
            content[at : at + length] = rng.bytes(len(content[at : at + length]))
        elif kind == "copy":
            length = min(int(rng.integers(1, 17)), len(content) - at)
            begin = int(rng.integers(len(content) - length + 1))
            content[at : at + length] = content[begin : begin + length]
        else:
            for _ in range(20):
                content[int(rng.integers(len(content)))] ^= 1 << int(rng.integers(8))
        fresh(source, target)
        (target / name).write_bytes(content)
        yield f"{number}: {kind} at {at} of {name}"


def directed_mutations(source, target):
    """Yield a description for every array and way of damaging it that no hash of the manifest would hide."""
    manifest = json.loads((source / "manifest.json").read_text())
    for name, entry in manifest["arrays"].items():
        array = np.fromfile(source / f"{name}.bin", np.dtype(entry["dtype"]))
        if not len(array):
            continue
        changes = {
            "first item all ones": lambda a: _put(a, 0, 0xFF),
            "middle item all ones": lambda a: _put(a, len(a) // 2, 0xFF),
            "last item all ones": lambda a: _put(a, len(a) - 1, 0xFF),
            "highest bit of the middle": lambda a: _flip(a, len(a) // 2),
            "shifted by one item": lambda a: np.roll(a, 1),
            "backwards": lambda a: a[::-1],
            "all zero": lambda a: np.zeros_like(a),
            "all ones": lambda a: np.full(a.nbytes, 0xFF, np.uint8).view(a.dtype),
            "all the last item": lambda a: np.full_like(a, a[-1]),
        }
        for what, change in changes.items():
            fresh(source, target)
            np.ascontiguousarray(change(array)).tofile(target / f"{name}.bin")
            yield f"{name}: {what}"
        for dtype in ("uint8", "uint16", "uint32", "uint64", "int8", "int16", "int32", "int64", "float32"):
            if dtype == entry["dtype"]:
                continue
            for values in (array, np.full(len(array), -1.0)):
                fresh(source, target)
                with np.errstate(invalid="ignore"):
                    values.astype(dtype).tofile(target / f"{name}.bin")
                write_manifest(target, _with(manifest, ["arrays", name, "dtype"], dtype))
                yield f"{name}: as {dtype}{'' if values is array else ', all -1'}"


def manifest_mutations(source, target):
    """Yield a description for every key of the manifest with every value of `VALUES`, and without it."""
    manifest = json.loads((source / "manifest.json").read_text())
    for path in _paths(manifest):
        for value in VALUES:
            fresh(source, target)
            write_manifest(target, _with(manifest, path, value))
            yield f"manifest {'.'.join(map(str, path))} = {value!r}"
        fresh(source, target)
        write_manifest(target, _without(manifest, path))
        yield f"manifest without {'.'.join(map(str, path))}"


def mixed_mutations(source, target):
    """Yield every seventeenth of the directed mutations and of those of the manifest: for slow ways of using one."""
    for mutations in (directed_mutations, manifest_mutations):
        for number, what in enumerate(mutations(source, target)):
            if number % 17 == 0:
                yield what


def write_manifest(folder, content):
    """Write a manifest with the checksum of its new content, so that what is behind the checksum is tested too."""
    from grpe_dgl.data.store import manifest as module

    content = {key: value for key, value in content.items() if key != "checksum"}
    if hasattr(module, "checksum"):
        content["checksum"] = module.checksum(content)
    (folder / "manifest.json").write_text(json.dumps(content))


def fresh(source, target):
    if target.exists():
        shutil.rmtree(target)
    shutil.copytree(source, target)


def _put(array, place, byte):
    array = array.copy()
    array.view(np.uint8)[place * array.itemsize : (place + 1) * array.itemsize] = byte
    return array


def _flip(array, place):
    array = array.copy()
    array.view(np.uint8)[(place + 1) * array.itemsize - 1] ^= 0x80
    return array


def _paths(value, path=()):
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inside in items:
        yield [*path, key]
        yield from _paths(inside, (*path, key))


def _with(content, path, value):
    content = copy.deepcopy(content)
    inside = content
    for key in path[:-1]:
        inside = inside[key]
    inside[path[-1]] = value
    return content


def _without(content, path):
    content = copy.deepcopy(content)
    inside = content
    for key in path[:-1]:
        inside = inside[key]
    del inside[path[-1]]
    return content
