"""This process among those of its launch, by its environment: known before torch is loaded."""

from dataclasses import dataclass

from surefit.launch_notes import Notes, number, shared_folder


@dataclass(frozen=True, slots=True)
class Launch:
    """The launcher's numbers, and what the processes of this machine leave for each other."""

    rank: int = 0
    world: int = 1
    local_rank: int = 0
    local_world: int = 1
    notes: Notes | None = None

    def gone(self) -> list[int]:
        """Ranks on this machine whose process has ended."""
        if self.notes is None:
            return []
        others = [local for local in range(self.local_world) if local != self.local_rank]
        first = self.rank - self.local_rank
        return [first + local for local in others if self.notes.is_gone(local)]


def this_launch() -> Launch:
    names = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE")
    rank, world, local_rank, local_world = (number(name) for name in names)
    if rank is None or not world or world == 1:
        return Launch()
    local, local_all = local_rank or 0, local_world or 1
    notes = Notes(shared_folder()) if local_all > 1 else None
    return Launch(rank, world, local, local_all, notes)
