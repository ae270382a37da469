"""What of training is under way in this process."""

from typing import TYPE_CHECKING

from surefit.observe.inside import finishing

if TYPE_CHECKING:
    from surefit.observe.inside.training.calls import Calls


class Now:
    """Slots, because this is asked at every call of a module."""

    __slots__ = (
        "cleared",
        "grad",
        "inside",
        "losing",
        "outermost",
        "recorded",
        "thread",
        "training",
        "wide",
    )

    def __init__(self) -> None:
        self.inside = False
        """A module or a backward pass is running: calls of modules are parts of it."""
        self.wide = False
        """Calls of modules inside the running one are counted, too."""
        self.grad = False
        """The outermost module with parameters that is running, or ran last, began with
        gradients."""
        self.recorded = False
        """The outermost of these calls began with gradients."""
        self.outermost: Calls | None = None
        """Its calls, where what it gives back is to be looked at."""
        self.cleared = False
        """Gradients were cleared, and no backward pass has begun since."""
        self.losing = False
        """A loss function is running."""
        self.thread = 0
        """The one that trains: that of the last backward pass or, before any, of the first call.
        What other threads call meanwhile is not its order of events."""
        self.training: bool | None = None
        """Mode of the outermost module with parameters that is running, or ran last."""


now = Now()


@finishing.after_fork
def forget_parent() -> None:
    now.__init__()  # type: ignore[misc]
