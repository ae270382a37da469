"""Prompts that decoder-only models are given to continue: rows with padding at their end."""

from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

from surefit.doctor.findings import Place
from surefit.doctor.measures.experiments import GenerateCall, Generated
from surefit.observe.inside import finishing, own_code, spool
from surefit.observe.inside.after_import import after_import
from surefit.observe.inside.autopsy.values import attributes
from surefit.observe.inside.experiments import trees
from surefit.observe.inside.training import periodic, readable
from surefit.observe.inside.training.letters import noted
from surefit.observe.inside.unseen import around

MOST_LINES = 32
FIRST = 64
"""Calls from settings line that are looked at; powers of two follow."""


@dataclass(slots=True)
class GenerateLine:
    """Calls of `generate` from settings line of the user's."""

    place: Place | None
    model: str
    step: int
    calls: int = 0
    rows: int = 0
    padded: int = 0
    tokens: int = 0


@dataclass(slots=True)
class GenerateLines:
    """By file and line."""

    known: dict[Place | None, GenerateLine] = field(default_factory=dict)
    written: int = -1


seen = GenerateLines()


@after_import("transformers.generation.utils")
def generation(module: ModuleType) -> None:
    kind = module.GenerationMixin
    kind.generate = around(kind.generate, _begins)


def _begins(args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    if readable.can_look():
        _look(args, kwargs)
    return False


def _look(args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    config = attributes(args[0]).get("config")
    if attributes(config).get("is_encoder_decoder"):
        return
    given: Any = args[1] if len(args) > 1 else kwargs.get("inputs", kwargs.get("input_ids"))
    if not trees.is_plain(given):
        return
    with readable.looking():
        if given.dim() != 2 or given.is_floating_point():
            return
    place = own_code.own_place()
    line = seen.known.get(place)
    if line is None:
        if len(seen.known) >= MOST_LINES:
            return
        line = seen.known[place] = GenerateLine(place, type(args[0]).__name__, noted.steps)
    line.calls += 1
    if line.calls > FIRST and line.calls & (line.calls - 1):
        return
    with readable.looking():
        at_end = _at_end(given, kwargs, args[0])
        line.rows += int(given.shape[0])
        if at_end is not None:
            if not line.padded and int(at_end.max()):
                line.step = noted.steps
            line.padded += int((at_end > 0).sum())
            line.tokens = max(line.tokens, int(at_end.max()))


def _at_end(ids: Any, kwargs: dict[str, Any], model: Any) -> Any:
    """Padding tokens after the last token of each row; None where nothing tells padding apart."""
    mask: Any = kwargs.get("attention_mask")
    real: Any
    if trees.is_plain(mask) and mask.shape == ids.shape:
        real = mask != 0
    else:
        token, ends = _special(kwargs, model)
        if token is None or token in ends:
            return None
        real = ids != token
    backwards = real.flip(1).int().cumsum(1)
    return (backwards == 0).sum(1) * (backwards[:, -1] > 0)


def _special(kwargs: dict[str, Any], model: Any) -> tuple[int | None, set[int]]:
    """The padding token, and tokens that end a text."""
    sources = (
        kwargs,
        attributes(attributes(model).get("generation_config")),
        attributes(attributes(model).get("config")),
    )
    pads = [settings.get("pad_token_id") for settings in sources]
    ends = [settings.get("eos_token_id") for settings in sources]
    flat = {
        int(end)
        for settings in ends
        for end in (settings if isinstance(settings, list | tuple) else [settings])
        if type(end) is int
    }
    return next((pad for pad in pads if type(pad) is int), None), flat


@finishing.at_end
@periodic.every_few_seconds
def write() -> None:
    calls = sum(line.calls for line in seen.known.values())
    if not calls or calls == seen.written:
        return
    seen.written = calls
    lines = tuple(
        GenerateCall(
            place=line.place,
            model=line.model,
            calls=line.calls,
            rows=line.rows,
            padded=line.padded,
            step=line.step,
            tokens=line.tokens,
        )
        for line in seen.known.values()
    )
    spool.saw(Generated(process=spool.process(), lines=lines))


@finishing.after_fork
def forget_parent() -> None:
    seen.__init__()  # type: ignore[misc]
