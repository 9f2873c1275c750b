"""Fingerprints of whole tables."""

from collections.abc import Iterable, Iterator

import numpy as np

from grpe_dgl.inference.output import Writer
from grpe_dgl.inference.predictor import Predictor
from grpe_dgl.inference.rows import RowChunk


def write_fingerprints(
    predictor: Predictor, chunks: Iterable[RowChunk], writer: Writer, *, layers: int
) -> Iterator[tuple[int, list[tuple[int, str]]]]:
    """Write the fingerprint of every row; yield after each chunk its size and (place, reason) of those without one."""
    width = layers * predictor.checkpoint.recipe.model.hidden_size
    for rows in chunks:
        numbers = np.full((len(rows.cells), width), np.nan, np.float32)
        found = predictor.chunk(rows, lambda batch: predictor.fingerprints(batch, layers))
        if found:
            numbers[[place for place, error in enumerate(rows.errors) if error is None]] = np.concatenate(found)
        writer.write(rows.cells, numbers, rows.errors)
        yield len(rows.cells), [(place, error) for place, error in enumerate(rows.errors) if error is not None]
