"""How a state dict that a script saves differs from the model that it is loaded into."""

from surefit.evidence.imagined.checkpoints import differ
from surefit.evidence.imagined.mishaps import StateMisfit


def how_states_differ(one: StateMisfit) -> tuple[str, list[str]]:
    """`sizes` and the tensors, `prefix` and the prefix, or `names`."""
    saved, has = one.saved.tensors or {}, one.tensors
    if saved.keys() == has.keys():
        return "sizes", differ(saved, has)
    for more, less in ((saved, has), (has, saved)):
        if not more or not less:
            break
        first = next(iter(more))
        prefix = first[: first.find(".") + 1]
        bare = {name.removeprefix(prefix): shape for name, shape in more.items()}
        all_have = bool(prefix) and all(name.startswith(prefix) for name in more)
        if all_have and bare.keys() == less.keys() and not differ(bare, less):
            return "prefix", [prefix]
    return "names", []
