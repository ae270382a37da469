"""The processes that train one model together, and what they tell each other."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from surefit.errors import SurefitError

Value = TypeVar("Value")


@dataclass(frozen=True, slots=True)
class Ranks:
    """This process among all; alone, nothing here costs anything or needs a process group."""

    rank: int = 0
    world: int = 1
    local_rank: int = 0
    """Its number among the processes of this machine."""

    device: str = "cpu"
    """Where the process group wants what it is given."""

    @property
    def is_first(self) -> bool:
        return self.rank == 0

    @property
    def is_first_here(self) -> bool:
        return self.local_rank == 0

    def summed(self, *values: float) -> list[float]:
        """Each value summed over all processes, the same bits on all of them."""
        if self.world == 1:
            return list(values)
        import torch
        import torch.distributed as dist

        total = torch.tensor(values, dtype=torch.float64, device=self.device)
        dist.all_reduce(total)
        sums: list[float] = total.tolist()
        return sums

    def any(self, flag: bool) -> bool:
        """Whether it holds on any process; all get the same answer."""
        return self.summed(float(flag))[0] > 0

    def gathered(self, mine: Sequence[Value]) -> list[Value]:
        """What all processes have, in the order of their numbers; each has as much as it likes."""
        if self.world == 1:
            return list(mine)
        import torch.distributed as dist

        parts: list[Any] = [None] * self.world
        dist.all_gather_object(parts, list(mine))
        return [value for part in parts for value in part]

    def wait(self) -> None:
        """Until all processes are here."""
        self.summed(0.0)

    def first_does(self, work: Callable[[], Value]) -> Value:
        """What the first process makes, on all; if it fails, all end, and it alone says why."""
        if self.world == 1:
            return work()
        failed: Exception | None = None
        made: list[Any] = []
        if self.is_first:
            try:
                made = [0, work()]
            except Exception as error:  # noqa: BLE001 - it is raised again when all know of it
                failed, made = error, [exit_code(error), None]
        code, value = self.gathered(made)
        if failed is not None:
            raise failed
        if code:
            raise SystemExit(code)
        result: Value = value
        return result


def exit_code(error: Exception) -> int:
    return error.exit_code if isinstance(error, SurefitError) else 1


def ranks_of(accelerator: Any) -> Ranks:
    return Ranks(
        accelerator.process_index,
        accelerator.num_processes,
        accelerator.local_process_index,
        str(accelerator.device),
    )


def leave_together() -> None:
    """At the end of a program: a process that leaves gloo alone is aborted now and then."""
    import gc

    import torch.distributed as dist

    if dist.is_initialized():
        gc.collect()
        dist.barrier()
        dist.destroy_process_group()
