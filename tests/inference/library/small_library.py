"""A library of a few hundred molecules in several files."""

from grpe_dgl.inference.bulk import Prediction
from grpe_dgl.inference.library.run import open_library

ATOMS = ("C", "N", "O", "S", "F")


def smiles(count, first=0):
    """Molecules that are all different; every 50th cannot be read."""
    return [
        "C(" if i % 50 == 49 else "C" * (1 + i % 7) + "(" + ATOMS[i % 3] + ")" + "C" * (1 + i // 7 % 11) + ATOMS[i % 5]
        for i in range(first, first + count)
    ]


def write_csv(folder, sizes, name="molecules"):
    folder.mkdir(exist_ok=True)
    files, first = [], 0
    for number, size in enumerate(sizes):
        files.append(folder / f"{name}-{number}.csv")
        lines = [f"{first + i},{text}" for i, text in enumerate(smiles(size, first))]
        files[-1].write_text("\n".join(["id,SMILES", *lines]) + "\n")
        first += size
    return files


def write_parquet(folder, sizes):
    import pyarrow
    import pyarrow.parquet

    folder.mkdir(exist_ok=True)
    files, first = [], 0
    for number, size in enumerate(sizes):
        files.append(folder / f"molecules-{number}.parquet")
        table = pyarrow.table({
            "id": pyarrow.array(range(first, first + size), pyarrow.int32()),
            "SMILES": smiles(size, first),
            "tags": [["a", str(i)] for i in range(size)],
        })  # fmt: skip
        pyarrow.parquet.write_table(table, files[-1], row_group_size=70)
        first += size
    return files


def opened(files, out, model, **options):
    options = {"max_nodes": 512, "rows_per_block": 100, **options}
    return open_library(files, out, Prediction((model,), "cpu"), **options)


def read_parts(out):
    """All rows of the parts of a folder, in order."""
    import pyarrow
    import pyarrow.parquet

    parts = sorted(out.glob("part-*.parquet"))
    return pyarrow.concat_tables([pyarrow.parquet.read_table(part) for part in parts])


def contents(out):
    return {part.name: part.read_bytes() for part in sorted(out.glob("part-*"))}
