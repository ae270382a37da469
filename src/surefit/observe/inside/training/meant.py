"""How large the update of a parameter was meant to be, from its optimizer's own figures."""

from dataclasses import dataclass
from typing import Any

from surefit.observe.inside.training import readable
from surefit.observe.inside.training.samples import Spots


@dataclass(frozen=True, slots=True)
class Meant:
    """What an optimizer knows of one tensor, and where that is sampled."""

    state: dict[str, Any]
    settings: dict[str, Any]
    spots: Spots
    tensor: Any

    def update(self, gradient: Any) -> Any:
        """Sizes at the sampled places, weight decay left aside; None where no rule is known."""
        if "lr" not in self.settings:
            return None
        if "exp_avg" in self.state and "exp_avg_sq" in self.state and "betas" in self.settings:
            return self._adaptive()
        if "momentum" in self.settings and "dampening" in self.settings:
            buffer = self.state.get("momentum_buffer")
            push = self._sample(buffer) if buffer is not None else gradient
            return self.settings["lr"] * push.float().abs() if push is not None else None
        return None

    def _adaptive(self) -> Any:
        """Adam and its kin: the mean gradient over the root of the mean square, both unbiased."""
        mean, square = self._sample(self.state["exp_avg"]), self._sample(self.state["exp_avg_sq"])
        if mean is None or square is None:
            return None
        first, second = (float(beta) for beta in self.settings["betas"])
        count = float(self.state.get("step", 1)) or 1.0
        root = (square.float() / (1 - second**count)).sqrt() + self.settings.get("eps", 0.0)
        return self.settings["lr"] * mean.float().abs() / (1 - first**count) / root

    def _sample(self, held: Any) -> Any:
        found = readable.plain(held)
        if found is None or found.is_sparse or found.stride() != self.tensor.stride():
            return None
        return self.spots.view(found)
