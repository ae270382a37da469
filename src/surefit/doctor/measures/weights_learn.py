"""What one process saw of weights that should learn: gradients that never come, or no numbers."""

from dataclasses import dataclass

from surefit.doctor.findings import Place
from surefit.doctor.observations import Measure


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldWeights:
    """The tensors of one optimizer, at its steps that were looked at."""

    optimizer: int
    """Its serial, as in `OptimizerSeen`."""
    stepped_at: Place | None
    """The user's line that takes its steps."""
    first_step: int
    """Steps of all optimizers before its first one; `last_step`: up to its last one."""
    last_step: int
    tensors: int
    handed_trainable: int | None
    """Tensors that required grad when it was given them; `trainable`: when it stepped last without
    a gradient, or at its first step."""
    trainable: int
    empty: int = 0
    """Steps, of those looked at, before which no tensor of it had a gradient."""
    leaf: int = 0
    """Of these, steps after a backward pass from a tensor without a graph."""
    cleared: int = 0
    """Of these, steps before which gradients were cleared after the last backward pass."""
    without_backward: int = 0
    """Of these, steps without a backward pass since the step before."""
    not_numbers: int = 0
    """Tensors that hold NaN; `not_numbers_by`: steps of all optimizers when that was noticed."""
    not_numbers_by: int = 0
    not_finite_by: int = 0
    """Steps of all optimizers when a gradient was first noticed that was not finite; 0: none."""
    missing: tuple[str, ...] = ()
    """Parameters that require grad and had no gradient at any of the steps looked at, while others
    had; none that was loaded from elsewhere, or that changed all the same."""
    missing_looked: int = 0
    """Steps at which that was looked at."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WeightsLearn(Measure):
    """Optimizers, and the backward passes before their steps."""

    held: tuple[HeldWeights, ...] = ()
    passes: int = 0
    """Backward passes that were looked at; `leaves`: those from a tensor without a graph."""
    leaves: int = 0
    first_leaf: int = 0
    """Backward passes before the first such one, and steps of all optimizers."""
    first_leaf_step: int = 0
    leaf_at: Place | None = None
    """The user's line of it."""
    optimizers: int = 0
    """Optimizers that existed at the first backward passes; `made_at`: where the last was made."""
    made_at: Place | None = None
    watched: int = 0
    """Before any optimizer stepped: parameters with a gradient whose values were compared from one
    backward pass to later ones; `moved`: those that changed."""
    moved: int = 0
    compared: int = 0
    """Backward passes over which they were compared."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AdapterHead:
    """A part of a model outside its base that was not loaded, and that no adapter wraps."""

    name: str
    """`classifier`."""
    parameters: int
    trainable: bool
    """Some of its parameters require grad."""
    saved_at: Place | None = None
    """Where the adapter was saved without it, while it was trainable."""
    saved_step: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class AdapterSeen:
    """One adapter that PEFT put into a model."""

    kind: str
    """`LORA`."""
    made_at: Place | None
    model: str
    """Kind of the model that it is in."""
    type: str
    """As its configuration says: `qwen3`."""
    frozen: bool
    """It is in inference mode: nothing of it requires grad."""
    asked: tuple[str, ...]
    """Names in `target_modules`; empty where that is a pattern."""
    layers: dict[str, int]
    """Last part of the name of a layer that can be adapted -> how many there are."""
    adapted: dict[str, int]
    """The same of layers that have an adapter."""
    usual: tuple[str, ...] = ()
    """PEFT's own choice for such a model."""
    step: int = 0
    """Steps of all optimizers when it was looked at."""
    heads: tuple[AdapterHead, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Adapters(Measure):
    """All adapters that existed when an optimizer stepped."""

    adapters: tuple[AdapterSeen, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class GrownTable:
    """A table of embeddings that was given more rows for new tokens."""

    resized_at: Place | None
    name: str
    """Last part of its name: `embed_tokens`."""
    rows: int
    added: int
    step: int
    """Steps of all optimizers when it was looked at."""
    held: bool
    """An optimizer holds it, or something of as many rows, or its new rows alone."""
    used: bool
    """Ids of new rows were among the inputs of a training step."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GrownTables(Measure):
    """Tables that were resized before training."""

    tables: tuple[GrownTable, ...] = ()
