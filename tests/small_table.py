"""A table of forty different molecules with a number and two classes to predict, and settings of a tiny model."""

import pandas

from tests.trained import SIZES

SMALL = {**SIZES, "model.layers": 2, "training.early_stopping": None, "training.batch_size": 8}
STARTS = ("C", "O", "c1ccccc1", "C1CCC1")


def frame(count=40):
    texts = [f"{STARTS[number % 4]}{'C' * (number // 4)}N" for number in range(count)]
    return pandas.DataFrame(
        {
            "SMILES": texts,
            "size": [float(len(text)) for text in texts],
            "kind": ["ring" if "1" in text else "chain" for text in texts],
        },
        index=[f"m{number}" for number in range(count)],
    )
