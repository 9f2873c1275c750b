"""What to type about an error or a note of the library, which does not know the command line."""

import shlex

import click

from grpe_dgl.errors import InputError

_OTHER_SPLIT = "for a CSV: `grpe preprocess csv` with another --split, --fractions or --seed, and --force"
HINTS = {
    "as_classes": "--task classification --force makes the dataset of classes",
    "other_positive": "--positive CLASS --force chooses",
    "other_smiles": "--smiles COLUMN chooses",
    "allow_overlap": "--allow-overlap measures it all the same, --split train measures the training graphs alone",
    "decimal_comma": "--decimal , reads decimal commas",
    "decimal_or_thousands": "--decimal , reads decimal commas, --thousands , reads 1,234 as 1234",
    "decimal_point": "without --decimal , decimal points are read",
    "fewer_workers": "--workers sets their number",
    "from_scratch": "--from-scratch starts from random weights",
    "import_weights": "`grpe import {value} --heads HEADS --dataset DATASET --out CKPT` makes a checkpoint of them",
    "labels_missing": "correct the cells, or --bad-labels missing takes them for missing labels",
    "labels_classes": "--task classification takes them for classes",
    "measure_anyway": "--allow-overlap measures it all the same",
    "make_calibration": "of a finished run, `grpe train RECIPE --out {value} --resume` calibrates on the test split; "
    "`grpe fit TABLE --target COLUMN` does too, with --folds 5 on every row",
    "make_encoding": "`grpe preprocess DATASET --encodings {value}` computes it",
    "make_dataset": "make one with `grpe preprocess`",
    "other_fractions": "--fractions 1,0,0 trains on every row",
    "other_metric": _OTHER_SPLIT + "; or --set training.metric={value}",
    "other_split": _OTHER_SPLIT,
    "replace_folder": "--force makes everything again",
    "replace_export": "--force replaces it",
    "resume_run": "--resume continues it, --out names another folder",
    "standardise": "--standardise keeps the largest fragment of each, without charges where possible",
    "submission": "or --submission DIR, for PCQM4M",
    "transfer_transformer": "--transfer transformer takes everything but the embeddings over",
    "verify_dataset": "`grpe info {value} --verify` lists what is wrong",
}
"""By `InputError.hint` and `grpe_dgl.messages.Note.hint`."""
OF_COMMAND = {
    "fit": {
        "as_classes": "--task classification takes them for classes",
        "other_positive": "--positive CLASS chooses",
        "other_metric": "try another --split, --fractions or --seed, or --set training.metric={value}",
        "other_split": "try another --split, --fractions or --seed",
    },
    "evaluate": {"labels_missing": "correct the cells, or make them blank"},
}
"""Where a command has other options than those that `HINTS` names."""


def hint_text(name: str, value: str = "", command: str | None = None) -> str:
    """Return what to type; `command` is the running one if None."""
    if command is None:
        context = click.get_current_context(silent=True)
        command = context.command.name if context is not None else None
    text = OF_COMMAND.get(command or "", {}).get(name, HINTS[name])
    return text.format(value=shlex.quote(value))


def with_hint(error: InputError, command: str | None = None) -> str:
    """Return an error's message, followed by what to type if there is something."""
    return str(error) if error.hint is None else f"{error}; {hint_text(error.hint, error.value, command)}"


def note_with_hint(note: str) -> str:
    """Return a note, followed by what to type if it names something."""
    hint = getattr(note, "hint", None)
    return note if hint is None else f"{note}; {hint_text(hint)}"
