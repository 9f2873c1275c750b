"""The section ``training`` of a recipe: every key, its type and its default."""

from dataclasses import dataclass
from typing import Literal

from grpe_dgl.errors import InputError
from grpe_dgl.messages import short
from grpe_dgl.objectives import LOSSES, METRICS, LossName, MetricName

ScheduleName = Literal["linear", "plateau", "cosine", "constant"]
KEYS_OF_SCHEDULE: dict[str, tuple[str, ...]] = {
    "linear": ("warmup_epochs", "warmup_updates", "final_learning_rate"),
    "plateau": ("plateau_factor", "plateau_patience", "minimum_learning_rate"),
    "cosine": ("warmup_epochs", "warmup_updates", "final_learning_rate"),
    "constant": ("warmup_epochs", "warmup_updates"),
}
"""The keys of ``training`` that each schedule reads beside its length and ``learning_rate``."""
SCHEDULE_KEYS = tuple(dict.fromkeys(key for keys in KEYS_OF_SCHEDULE.values() for key in keys))


def _require(fits: bool, key: str, found: object, accepted: str) -> None:
    if not fits:
        raise InputError(f"{key} is {short(found)}; accepted: {accepted}")


@dataclass(frozen=True, kw_only=True)
class Flag:
    """FLAG, adversarial training (Kong et al., 2020): see `grpe_dgl.training.flag`."""

    step_size: float
    """Bound of the first, random perturbation, and how far every step moves each number of it."""
    steps: int = 3
    """Forward and backward passes per update."""

    def __post_init__(self) -> None:
        _require(self.step_size > 0, "training.flag.step_size", self.step_size, "above 0")
        _require(1 <= self.steps <= 1000, "training.flag.steps", self.steps, "1 to 1000")


@dataclass(frozen=True, kw_only=True)
class TrainingRecipe:
    """How the model is trained: the optimiser, its learning rate, what is minimised and what is measured."""

    batch_size: int
    """Graphs per update, over all processes together."""
    epochs: int | None = None
    """Length of the schedule in epochs; exactly one of this and `updates` is given."""
    updates: int | None = None
    """Length of the schedule in optimiser updates."""
    stop_after_epochs: int | None = None
    """Stop after this many epochs although the schedule is longer; None runs the whole schedule."""
    warmup_epochs: int | None = None
    """Length of the warm-up in epochs; at most one of this and `warmup_updates` is given."""
    warmup_updates: int | None = None
    """Length of the warm-up in updates."""
    optimizer: Literal["adamw", "adam"] = "adamw"
    schedule: ScheduleName = "linear"
    """How the learning rate changes: see `grpe_dgl.training.schedule.Schedule`."""
    learning_rate: float = 2e-4
    """The peak, at the end of the warm-up; of a plateau schedule the first."""
    final_learning_rate: float = 1e-9
    """At the end of a linear or cosine decay."""
    plateau_factor: float | None = None
    """What a plateau schedule multiplies the rate with; None: `grpe_dgl.training.schedule.FACTOR`."""
    plateau_patience: int | None = None
    """Epochs without a better validation loss before it does; None: `grpe_dgl.training.schedule.PATIENCE`."""
    minimum_learning_rate: float | None = None
    """Training ends when the rate of a plateau schedule falls below this; None: it runs all epochs."""
    weight_decay: float = 0.0
    """Decoupled with adamw, an L2 term in the gradient with adam."""
    weight_penalty: float = 0.0
    """Times the learning rate, the factor of `grpe_dgl.models.model.GraphModel.weight_norm` in the loss."""
    weight_average: float | None = None
    """Decay of a moving average of the weights, which is evaluated and saved in place of the last weights; None: no
    average. See `grpe_dgl.training.weight_average`."""
    flag: Flag | None = None
    """Adversarial training; None: none."""
    clip: float | None = None
    """Gradients are clipped to this norm; None does not clip."""
    loss: LossName | None = None
    """None takes the default of the dataset's kind of task."""
    class_weights: Literal["balanced"] | None = None
    """Of a classification: ``balanced`` gives every class the same share of a target's loss; see
    `grpe_dgl.training.label_weights`. None: every label counts the same."""
    metric: MetricName | None = None
    """Selects the best epoch; None takes the dataset's own."""
    evaluate_every: int = 1
    """Epochs between evaluations; the last epoch is always evaluated."""
    early_stopping: int | None = None
    """Stop after this many epochs without a better validation metric; None: no early stopping."""
    freeze_encoder: bool = False
    """Train the head alone; for fine-tuning."""
    transfer: Literal["all", "transformer"] = "all"
    """Which weights of the model it starts from are taken, for fine-tuning: all but the head's, which needs data of the
    same vocabulary, or all but the head's and the embeddings of nodes and edges."""
    seed: int = 0
    runs: int = 1
    """Number of seeds to train: seed, seed + 1, ..."""
    precision: Literal["float32", "bf16"] = "float32"
    micro_batch_size: int | None = None
    """Compute a batch in parts of at most this many graphs and add up their gradients; None computes it whole."""
    checkpoint_layers: bool = False
    """Keep only each layer's input for the backward pass and compute the rest again: less memory, more time."""
    compile: bool = False
    """Run the model through torch.compile, on padded batches."""

    def __post_init__(self) -> None:
        if (self.epochs is None) == (self.updates is None):
            found = "both are given" if self.epochs is not None else "neither is given"
            raise InputError(f"training.epochs and training.updates: {found}; accepted: exactly one of them")
        if self.warmup_epochs is not None and self.warmup_updates is not None:
            raise InputError(
                "training.warmup_epochs and training.warmup_updates: both are given; accepted: one or none"
            )
        for name in (
            "batch_size",
            "micro_batch_size",
            "epochs",
            "updates",
            "stop_after_epochs",
            "evaluate_every",
            "early_stopping",
            "runs",
        ):
            value = getattr(self, name)
            _require(value is None or value >= 1, f"training.{name}", value, "1 or more")
        for name in (
            "warmup_epochs",
            "warmup_updates",
            "seed",
            "final_learning_rate",
            "plateau_patience",
            "minimum_learning_rate",
            "weight_decay",
            "weight_penalty",
        ):
            value = getattr(self, name)
            _require(value is None or value >= 0, f"training.{name}", value, "0 or more")
        self._check_schedule()
        _require(self.clip is None or self.clip > 0, "training.clip", self.clip, "above 0, or null")
        for warmup, length in (("warmup_epochs", "epochs"), ("warmup_updates", "updates")):
            short, long = getattr(self, warmup), getattr(self, length)
            if short is not None and long is not None:
                _require(short < long, f"training.{warmup}", short, f"less than training.{length}, which is {long}")
        if self.stop_after_epochs is not None and self.epochs is not None:
            accepted = f"up to training.epochs, which is {self.epochs}, or null"
            _require(
                self.stop_after_epochs <= self.epochs, "training.stop_after_epochs", self.stop_after_epochs, accepted
            )
        decay = self.weight_average
        _require(decay is None or 0 < decay < 1, "training.weight_average", decay, "above 0 and below 1, or null")
        if self.flag is not None:
            _require(not self.compile, "training.compile", self.compile, "false with training.flag")
        if self.freeze_encoder:
            accepted = "all, as training.freeze_encoder is true and new embeddings have to be trained"
            _require(self.transfer == "all", "training.transfer", self.transfer, accepted)
        if self.loss is not None and self.metric is not None:
            kinds = set(LOSSES[self.loss].kinds)
            fitting = [name for name, metric in METRICS.items() if kinds & set(metric.kinds)]
            accepted = f"{', '.join(fitting)}, which fit training.loss {self.loss}"
            _require(self.metric in fitting, "training.metric", self.metric, accepted)

    def _check_schedule(self) -> None:
        """Raise if a key of another schedule is given, or one of this schedule's does not fit."""
        fields = type(self).__dataclass_fields__
        applies = KEYS_OF_SCHEDULE[self.schedule]
        for name in SCHEDULE_KEYS:
            value = getattr(self, name)
            if name not in applies and value != fields[name].default:
                readers = ", ".join(schedule for schedule, keys in KEYS_OF_SCHEDULE.items() if name in keys)
                raise InputError(
                    f"training.{name} is {short(value)}, which training.schedule {self.schedule} does not read; "
                    f"accepted: with training.schedule {readers}"
                )
        lowest = "final_learning_rate" if self.schedule in ("linear", "cosine") else "minimum_learning_rate"
        bound = getattr(self, lowest)
        accepted = "above 0" if bound is None else f"above 0 and at least training.{lowest}, which is {bound:g}"
        fits = self.learning_rate > 0 and self.learning_rate >= (bound or 0.0)
        _require(fits, "training.learning_rate", self.learning_rate, accepted)
        if self.schedule == "plateau":
            factor = self.plateau_factor
            _require(factor is None or 0 < factor < 1, "training.plateau_factor", factor, "above 0 and below 1")
            accepted = "1 with training.schedule plateau, which reads every epoch's validation loss"
            _require(self.evaluate_every == 1, "training.evaluate_every", self.evaluate_every, accepted)
