"""The torch device of ``--device``."""

from typing import Any

import click


def choose_device(name: str) -> Any:
    """Return the torch device of ``--device``; auto is CUDA if there is a device."""
    import torch

    count = torch.cuda.device_count() if torch.cuda.is_available() else 0
    if name == "auto":
        name = "cuda" if count else "cpu"
    try:
        device = torch.device(name)
    except RuntimeError:
        device = None
    if device is None or device.type not in ("cpu", "cuda"):
        raise click.UsageError(f"--device {name}: accepted: auto, cpu, cuda, cuda:1, ...")
    if device.type == "cuda" and (device.index or 0) >= count:
        available = f"cpu, auto{''.join(f', cuda:{i}' for i in range(count))}"
        raise click.ClickException(f"--device {name}: {count or 'no'} CUDA devices found; accepted: {available}")
    return device
