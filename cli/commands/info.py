"""``grpe info``: describe a dataset, a checkpoint or this installation, and verify a dataset's files."""

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from grpe_dgl.errors import InputError
from grpe_dgl.io.run_models import is_run_folder
from grpe_dgl.pretrained import is_shipped, shipped_models

from ..support.describe_checkpoint import describe_checkpoint
from ..support.options import checkpoint_of
from ..support.system import describe_system, show_system
from ..support.terminal import echo

if TYPE_CHECKING:
    from grpe_dgl.data.store.store import Store


@click.command("info")
@click.argument("path", type=click.Path(path_type=Path), required=False)
@click.option("--system", is_flag=True, help="Describe this installation instead: versions, devices, threads.")
@click.option("--verify", is_flag=True, help="Compare every array with its hash in the manifest.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def info_command(path: Path | None, system: bool, verify: bool, as_json: bool) -> None:
    """Describe PATH: a dataset, checkpoint, run or shipped model."""
    if system:
        if path is not None or verify:
            raise click.UsageError("--system goes with neither PATH nor --verify")
        if as_json:
            echo(json.dumps(describe_system(), indent=2))
        else:
            show_system()
        return
    if path is None:
        raise click.UsageError("give PATH, a dataset's folder or a checkpoint; or --system")
    if path.is_file() or is_shipped(path):
        if verify:
            raise click.UsageError("--verify goes with a dataset's folder")
        describe_checkpoint(path, as_json=as_json)
        return
    if not path.exists():
        shipped = (
            f"; shipped models: {', '.join(shipped_models())}" if path.name == str(path) and not path.suffix else ""
        )
        raise InputError(f"{path}: there is no such dataset or checkpoint{shipped}")
    if is_run_folder(path):
        describe_checkpoint(checkpoint_of(path), as_json=as_json)
        return
    from grpe_dgl.data.store.store import Store

    store = Store(path)
    if verify:
        store.verify()
    if as_json:
        content = json.loads(store.manifest.to_json())
        echo(json.dumps({**content, "num_bytes": store.num_bytes, "verified": verify}, indent=2))
        return
    for key, value in _lines(store).items():
        echo(f"{key:13} {value}")
    if verify:
        echo(f"{'verified':13} every array has the hash in the manifest")


def _lines(store: "Store") -> dict[str, str]:
    from grpe_dgl.data.encodings.files import stored_encodings

    manifest = store.manifest
    schema = manifest.schema
    task = schema.task
    names = ", ".join(task.targets[:5]) + (f", ... ({len(task.targets)} in all)" if len(task.targets) > 5 else "")
    classes = f", {len(task.classes)} classes" if task.kind == "multiclass" else ""
    columns = (
        f"{schema.node_features} numbers"
        if schema.node_vocabulary is None
        else f"{len(schema.node_vocabulary)} column{'s' * (len(schema.node_vocabulary) > 1)} of "
        f"{', '.join(map(str, schema.node_vocabulary))} values"
    )
    graphs = manifest.num_graphs
    lines = {
        "dataset": f"{schema.name} ({manifest.origin})",
        "task": f"{task.kind} per {task.level}{classes}: {names}",
        "metric": task.metric,
        "graphs": f"{graphs:,}, {'un' if schema.undirected else ''}directed, with {manifest.num_nodes / graphs:.1f} "
        f"nodes and {manifest.num_edges / graphs:.1f} edges on average, at most {manifest.max_nodes} nodes",
        "splits": ", ".join(f"{name} {count:,}" for name, count in manifest.splits.items()),
        "node features": f"{columns}, vocabulary {schema.vocabulary}",
        "edge types": str(schema.num_edge_types),
    }
    if schema.target_mean is not None and schema.target_deviation is not None and len(schema.target_mean) == 1:
        lines["target"] = (
            f"mean {schema.target_mean[0]:.6g}, deviation {schema.target_deviation[0]:.6g} on the training split"
        )
    if manifest.settings:
        given = {key: value for key, value in manifest.settings.items() if value is not None}
        texts = {key: " ".join(map(str, value)) if isinstance(value, list) else value for key, value in given.items()}
        lines["settings"] = ", ".join(f"{key} {value}" for key, value in texts.items())
    if manifest.num_skipped:
        lines["skipped"] = f"{manifest.num_skipped:,} of {manifest.num_rows:,} rows, listed in skipped.csv"
    encodings = stored_encodings(store.path)
    if encodings:
        lines["encodings"] = ", ".join(folder.name.replace("-", ":") for folder in encodings)
    lines["size"] = f"{store.num_bytes / 1e6:,.1f} MB"
    lines["written by"] = f"grpe-dgl {manifest.library_version}"
    return lines
