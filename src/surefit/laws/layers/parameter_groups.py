"""The fewest modules that a set of parameters is: one name for a whole encoder."""

from collections.abc import Collection, Iterable


def smallest_groups(names: Iterable[str], every: Collection[str]) -> list[str]:
    """Modules all of whose parameters are among the names, outermost first; where even a layer has
    others, the parameter itself. `every`: all parameters, with these."""
    wanted = list(dict.fromkeys(names))
    others = set(every) - set(wanted)
    groups = [widest(name, others) for name in wanted]
    return list(dict.fromkeys(groups))


def widest(name: str, others: Collection[str]) -> str:
    parts = name.split(".")
    for length in range(1, len(parts)):
        prefix = ".".join(parts[:length])
        if not any(other.startswith(f"{prefix}.") for other in others):
            return prefix
    return name
