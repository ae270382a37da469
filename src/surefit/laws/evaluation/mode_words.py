"""Modes of models and their layers, in words."""

from collections.abc import Iterator

from surefit.doctor.findings import Fact
from surefit.doctor.measures.modes import LayerModes, ModelCalls, ModeSet
from surefit.doctor.words import counted, spoken


def evaluation_facts(calls: ModelCalls, switches: tuple[ModeSet, ...]) -> Iterator[Fact]:
    yield Fact("evaluated", f"{counted(calls.calls, 'call')} that no backward pass goes through")
    ended = [switch for switch in switches if not switch.training]
    if ended:
        lines = spoken(dict.fromkeys(str(switch.place) for switch in ended if switch.place))
        yield Fact("`.eval()`", f"called at {lines}, not before these calls")
    else:
        yield Fact("`.eval()`", "never called")


def active_layers(look: LayerModes) -> str:
    parts = []
    if look.dropouts:
        verb = "is" if look.dropouts == 1 else "are"
        rates = spoken(f"{rate:g}" for rate in look.rates)
        parts.append(f"{counted(look.dropouts, 'dropout layer')} (p = {rates}) {verb} active")
    if look.norms:
        verb = "uses" if look.norms == 1 else "use"
        parts.append(f"{counted(look.norms, 'batch norm')} {verb} the statistics of the batch")
    return spoken(parts or ["dropout is active"])


def quiet_layers(look: LayerModes) -> str:
    parts = []
    if look.dropouts_off:
        verb = "is" if look.dropouts_off == 1 else "are"
        parts.append(f"{counted(look.dropouts_off, 'dropout layer')} {verb} off")
    if look.norms_off:
        verb = "keeps" if look.norms_off == 1 else "keep"
        stays = "its" if look.norms_off == 1 else "their"
        layers = counted(look.norms_off, "batch norm")
        parts.append(f"{layers} {verb} {stays} running statistics frozen")
    if look.readers and not look.norms_off and not look.dropouts_off:
        parts.append(f"{spoken(look.readers)} asks for `self.training`, which is False")
    return spoken(parts)
