"""How far a run has come."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a run has come: the place from which it goes on."""

    step: int = 0
    epoch: int = 0
    """Epochs whose steps and evaluation are behind it."""

    step_in_epoch: int = 0
    loss_sum: float = 0.0
    """Of this epoch so far, over its supervised `places`."""

    places: int = 0
    epoch_loss: float = 0.0
    """Mean over the supervised places of the last epoch that is behind it."""

    best_epoch: int | None = None
    best_score: float | None = None
    """Of that epoch on held-out rows; the higher, the better."""

    epochs_without_gain: int = 0
