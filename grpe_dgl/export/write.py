"""Write a model as ONNX or torch.export files, checked before they appear."""

import io
import json
import logging
import os
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from grpe_dgl.checkpoint.file import Checkpoint
from grpe_dgl.errors import InputError
from grpe_dgl.export.check import Run, random_batches, require_equal
from grpe_dgl.export.contract import contract
from grpe_dgl.export.module import PaddedModel, encoding_inputs, padded, relations_of
from grpe_dgl.families import FAMILIES, model_class
from grpe_dgl.io.atomic_folder import AtomicFolder

FORMATS = {"onnx": "model.onnx", "pt2": "model.pt2"}
OPSET = 18
CONTRACT = "model.json"


def export(checkpoint: Checkpoint, folder: Path, formats: Sequence[str], *, force: bool = False) -> dict[str, float]:
    """Write a folder with the model and ``model.json``; return the relative difference from ours, per format.

    The exported files are run on random graphs of several sizes and compared with the model before the folder appears.

    Parameters
    ----------
    checkpoint
        The model.
    folder
        Where to: a new or empty folder, or with `force` one that an export made.
    formats
        Some of `FORMATS`.
    force
        Whether to replace an export that is there.
    """
    for name in formats:
        if name not in FORMATS:
            raise InputError(f"format is {name!r}; accepted: {', '.join(FORMATS)}")
    _require_free(folder, force)
    ours = checkpoint.model()
    if not ours.takes_padded:
        accepted = ", ".join(name for name in FAMILIES if model_class(name).takes_padded)
        raise InputError(
            f"models of the family {checkpoint.recipe.model.NAME} cannot be exported: they compute on a DGLGraph; "
            f"accepted: {accepted}"
        )
    files = {name: FORMATS[name] for name in dict.fromkeys(formats)}
    encodings = encoding_inputs(checkpoint.recipe.model.view)
    names = ["nodes", "relation", "mask", *(entry.name for entry in encodings)]
    differences = {}
    with AtomicFolder(folder) as staging:
        with _quiet():
            program = _program(checkpoint)
            for name, file in files.items():
                path = staging.folder / file
                run = _write_onnx(program, path, names) if name == "onnx" else _write_pt2(program, path)
                differences[name] = require_equal(run, ours, checkpoint, what=f"the {name} file")
        content = contract(checkpoint, files=files, opset=OPSET if "onnx" in files else None)
        (staging.folder / CONTRACT).write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
        staging.commit()
    return differences


def _program(checkpoint: Checkpoint) -> torch.export.ExportedProgram:
    view = checkpoint.recipe.model.view
    model = PaddedModel(checkpoint.model(backend="dense"), checkpoint.schema, view).eval()
    graphs = list(random_batches(checkpoint))[-1].graph
    example = padded(graphs, relations_of(view, checkpoint.schema))
    batch, nodes = torch.export.Dim("batch", min=1), torch.export.Dim("nodes", min=1 + int(view.virtual_node))
    shapes: dict[str, Any] = {
        "nodes": {0: batch, 1: nodes},
        "relation": {0: batch, 1: nodes, 2: nodes},
        "mask": {0: batch, 1: nodes},
    }
    if encodings := encoding_inputs(view):
        shapes["encodings"] = tuple({0: batch, 1: nodes} if entry.per_node else {0: batch} for entry in encodings)
    with torch.no_grad():
        return torch.export.export(
            model,
            example,
            dynamic_shapes=shapes,
            # Where the model adds V nodes torch cannot prove (N + V)^2 divisible by N + V, and checks it at run time.
            prefer_deferred_runtime_asserts_over_guards=model.model.added_virtual_nodes > 0,
        )


def _write_pt2(program: torch.export.ExportedProgram, path: Path) -> Run:
    content = io.BytesIO()  # torch's own writer aborts the process on a full disk
    torch.export.save(program, content)
    path.write_bytes(content.getbuffer())
    module = torch.export.load(path).module()

    def run(*inputs: Tensor) -> Tensor:
        with torch.no_grad():
            result: Tensor = module(*inputs)
        return result

    return run


def _write_onnx(program: torch.export.ExportedProgram, path: Path, names: list[str]) -> Run:
    try:
        import onnx
        import onnxruntime
        import onnxscript  # noqa: F401  # torch's exporter needs it
    except ImportError as error:
        raise InputError(f"ONNX needs the package {error.name}; install grpe-dgl[onnx]") from None
    exported = torch.onnx.export(
        program,
        dynamo=True,
        opset_version=OPSET,
        input_names=names,
        output_names=["prediction"],
        verbose=False,
    )
    assert exported is not None
    exported.save(path)
    model = onnx.load(path, load_external_data=False)
    _name_dimensions(model)
    if not any(tensor.external_data for tensor in model.graph.initializer):  # over 2 GB the weights lie beside it
        onnx.save(model, path)
    onnx.checker.check_model(path)
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])

    def run(*inputs: Tensor) -> Tensor:
        feed = {name: tensor.numpy() for name, tensor in zip(names, inputs, strict=True)}
        return torch.from_numpy(session.run(["prediction"], feed)[0])

    return run


def _name_dimensions(model: Any) -> None:
    """Call the free sizes batch and nodes, where torch calls them s31 and the like."""
    dimensions = model.graph.input[0].type.tensor_type.shape.dim
    names = {dimensions[0].dim_param: "batch", dimensions[1].dim_param: "nodes"}
    for value in (*model.graph.input, *model.graph.output):
        for dimension in value.type.tensor_type.shape.dim:
            if dimension.HasField("dim_param"):
                dimension.dim_param = names.get(dimension.dim_param, dimension.dim_param)
    del model.graph.value_info[:]  # sizes in between, under torch's names; only for reading


def _require_free(folder: Path, force: bool) -> None:
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{folder} exists and is not a folder")
    there = sorted(os.listdir(folder)) if folder.is_dir() else []
    made = (CONTRACT, *FORMATS.values(), FORMATS["onnx"] + ".data")  # the last for weights of over 2 GB
    strange = [name for name in there if name not in made]
    if strange:
        raise InputError(f"{folder} holds {strange[0]!r}, which no export made; accepted: a new or an empty folder")
    if there and not force:
        raise InputError(f"{folder} exists already, and force is not set", hint="replace_export")


@contextmanager
def _quiet() -> Iterator[None]:
    """Silence the warnings of torch's exporter about optional packages and its own deprecations."""
    logger = logging.getLogger("torch.onnx")
    before = logger.level
    logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)
            warnings.simplefilter("ignore", DeprecationWarning)
            warnings.simplefilter("ignore", UserWarning)
            yield
    finally:
        logger.setLevel(before)
