"""Read mutated datasets in a process of its own: ``python -m tests.fuzz.use_dataset SOURCE KIND COUNT SEED``.

Every mutation is used in every way that reads the arrays. A line of JSON tells what each one gave: a crash of the
process shows as a missing line, so the test knows which mutation it was.
"""

import json
import sys
import tempfile
import warnings
from pathlib import Path

from grpe_dgl.errors import InputError
from tests.fuzz import dataset_mutations


def use(folder, model):
    """Open a dataset and read every graph of it in every form."""
    import grpe_dgl.data
    from grpe_dgl.data.dataset import Dataset
    from grpe_dgl.data.store.store import Store
    from grpe_dgl.views import GraphView

    store = Store(folder)
    repr(store.manifest), store.manifest.to_json()
    data = grpe_dgl.data.load(folder)
    graphs = Dataset(store, view=GraphView(virtual_node=True, self_loops=True))
    for split in data.splits.values():
        split.labels()
        if not len(split):
            continue
        split[0]
        for batch in split.batches(batch_size=7):
            if model["reads"] == (data.schema.node_vocabulary, data.schema.edge_columns):
                model["module"](batch.graph)
        for _ in split.batches(pair_budget=100):
            pass
        for _ in graphs[split.name].batches(batch_size=5):
            pass
    for number in range(len(data)):
        data.graph(number)


def use_commands(folder, model):
    """Run the commands that read a dataset; a traceback is raised, an error message is an InputError."""
    from click.testing import CliRunner

    from grpe_dgl_cli.main import main

    refused = False
    for words in (
        ["info", folder],
        ["evaluate", model["checkpoint"], "--dataset", folder],
        ["predict", model["checkpoint"], folder, "--out", f"{folder}.csv", "--force"],
    ):
        result = CliRunner().invoke(main, [str(word) for word in words])
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        assert "\x1b" not in result.output
        refused = refused or result.exit_code != 0
    if refused:
        raise InputError("a command refused it")


def model_for(schema):
    from grpe_dgl.nn import GRPE

    return GRPE(
        layers=1,
        hidden_size=8,
        ffn_size=8,
        num_heads=2,
        max_distance=5,
        num_edge_types=schema.num_edge_types,
        node_vocabulary=schema.node_vocabulary,
        num_outputs=schema.task.num_outputs,
        level=schema.task.level,
    ).eval()


def main(source, kind, count, seed, skip):
    warnings.simplefilter("ignore")
    import grpe_dgl.data

    schema = grpe_dgl.data.load(source).schema
    model = {"reads": (schema.node_vocabulary, schema.edge_columns), "module": model_for(schema)}
    with tempfile.TemporaryDirectory() as scratch:
        target = Path(scratch) / "dataset"
        if kind == "mixed":
            model["checkpoint"] = Path(source).parent / "model.ckpt"
        if kind == "random":
            mutations = dataset_mutations.random_mutations(Path(source), target, count, seed)
        else:
            mutations = getattr(dataset_mutations, f"{kind}_mutations")(Path(source), target)
        for number, what in enumerate(mutations):
            if number < skip:
                continue
            print(json.dumps({"start": what}), flush=True)
            try:
                (use_commands if kind == "mixed" else use)(target, model)
                outcome = "read"
            except InputError:
                outcome = "InputError"
            except Exception as error:
                outcome = f"traceback {type(error).__name__}: {str(error)[:100]}"
            print(json.dumps({"end": outcome}), flush=True)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]), int(sys.argv[5]))
