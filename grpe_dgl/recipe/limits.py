"""The largest whole numbers of a recipe, far beyond any use: a typing error must not hang a run or fill the memory."""

import dataclasses
from collections.abc import Iterator

from grpe_dgl.errors import InputError
from grpe_dgl.families import ModelSettings
from grpe_dgl.messages import short

LIMITS: dict[str, int] = {
    "model.layers": 1_000,
    "model.num_heads": 1_024,
    "model.hidden_size": 65_536,
    "model.ffn_size": 262_144,
    "training.batch_size": 1_000_000,
    "training.epochs": 1_000_000,
    "training.updates": 1_000_000_000,
    "training.stop_after_epochs": 1_000_000,
    "training.warmup_epochs": 1_000_000,
    "training.warmup_updates": 1_000_000_000,
    "training.evaluate_every": 1_000_000,
    "training.plateau_patience": 1_000_000,
    "training.early_stopping": 1_000_000,
    "training.seed": 2**32 - 1,
    "training.runs": 1_000,
}
OTHER_LIMIT = 65_536
"""Of a whole number in ``model`` that `LIMITS` does not name; those of ``model.*layers`` have the limit of layers."""
MOST_ITEMS = 64
"""Of a list in ``model``, such as ``head_sizes``."""


def check_limits(model: ModelSettings, training: object) -> None:
    """Raise an InputError that names the first key of a recipe's sections above its limit."""
    for key, value in (*_whole_numbers("model", model), *_whole_numbers("training", training)):
        most = LIMITS["model.layers"] if key.endswith("layers") else LIMITS.get(key, OTHER_LIMIT)
        if value > most:
            raise InputError(f"{key} is {short(value)}; accepted: up to {most:,}")


def _whole_numbers(section: str, settings: object) -> Iterator[tuple[str, int]]:
    for field in dataclasses.fields(settings):  # type: ignore[arg-type]
        key, value = f"{section}.{field.name}", getattr(settings, field.name)
        if isinstance(value, tuple) and len(value) > MOST_ITEMS:
            raise InputError(f"{key} has {len(value):,} items; accepted: up to {MOST_ITEMS}")
        for item in value if isinstance(value, tuple) else (value,):
            if type(item) is int:
                yield key, item
