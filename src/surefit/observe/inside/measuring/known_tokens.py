"""Which ids mean padding and the end of a row, and how long prompts are, by what a run knows."""

import re
import sys
from dataclasses import dataclass, field, replace
from types import FrameType
from typing import Any

from surefit.observe.inside import origins, own_code
from surefit.observe.inside.autopsy import values

TOKENIZERS = "transformers.tokenization_utils_base"
CAUSAL = ("ForCausalLM", "LMHeadModel")
RECURRENT = ("LSTM", "GRU", "RNN")
PAD = re.compile(r"(?i)^pad(_?(id|idx|index|token|token_id))?$")
END = re.compile(r"(?i)^(eos|end)(_?(id|idx|index|token|token_id))?$")
PROMPT = re.compile(
    r"(?i)^(n_)?(prompt|source|src|question|query|instruction)s?_?(len|length|size|tokens)$"
)
MOST_FRAMES = 4
MOST_NAMES = 256
MOST_MODULES = 512


@dataclass(frozen=True, slots=True)
class KnownTokens:
    """None where nobody says it."""

    pad: int | None = None
    end: int | None = None
    lengths: dict[str, int] = field(default_factory=dict)
    """Of prompts, by the user's names."""

    def with_names(self, frame: FrameType | None, padding_idx: Any) -> "KnownTokens":
        """What the user's own frames say by names such as `EOS` and `prompt_len`, too."""
        numbers = numbers_in(frame)
        pad, end = self.pad, self.end
        if type(padding_idx) is int:
            pad = padding_idx
        for name, number in numbers.items():
            pad = number if pad is None and PAD.match(name) else pad
            end = number if end is None and END.match(name) else end
        lengths = {name: number for name, number in numbers.items() if PROMPT.match(name)}
        return replace(self, pad=pad, end=end, lengths=lengths)


def numbers_in(frame: FrameType | None) -> dict[str, int]:
    """Integers of the user's frames and modules, by name, the innermost first."""
    found: dict[str, int] = {}
    depth = 0
    while frame is not None and depth < MOST_FRAMES:
        if own_code.own(frame.f_code):
            depth += 1
            for held in (frame.f_locals, frame.f_globals):
                for name, value in list(held.items())[:MOST_NAMES]:
                    if type(value) is int and (
                        PAD.match(name) or END.match(name) or PROMPT.match(name)
                    ):
                        found.setdefault(name, value)
        frame = frame.f_back
    return found


def known_tokens(module: Any) -> KnownTokens:
    """By the only tokenizer there is, or by the model's configuration."""
    loaded = sys.modules.get(TOKENIZERS)
    tokenizers = list(origins.alive(loaded.PreTrainedTokenizerBase)) if loaded is not None else []
    config = values.attributes(module).get("config")
    if len(tokenizers) == 1 and not own_code.own_class(type(tokenizers[0])):
        held: Any = tokenizers[0]
        return KnownTokens(number_of(held, "pad_token_id"), number_of(held, "eos_token_id"))
    if config is not None and type(config).__module__.startswith("transformers."):
        return KnownTokens(number_of(config, "pad_token_id"), None)
    return KnownTokens()


def number_of(thing: Any, name: str) -> int | None:
    value = getattr(thing, name, None)
    return value if type(value) is int else None


def is_causal(module: Any) -> bool:
    """A causal language model of a library, or one whose only mixing layer is a recurrent one that
    reads in one direction."""
    if any(kind.__name__.endswith(CAUSAL) for kind in type(module).__mro__):
        return True
    recurrent, others = 0, 0
    for number, part in enumerate(module.modules()):
        if number >= MOST_MODULES:
            return False
        names = {kind.__name__ for kind in type(part).__mro__}
        if names & set(RECURRENT):
            recurrent += 1
            others += bool(values.attributes(part).get("bidirectional"))
        others += any("Attention" in name or name.startswith("Conv") for name in names)
    return recurrent == 1 and not others
