"""What `generate` takes: a prompt that leaves room for an answer."""

from collections.abc import Iterator
from dataclasses import dataclass

from surefit.doctor.violations import Operand, Violation
from surefit.laws.case import Case, use_of


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptTooLong(Violation):
    """The prompt has as many tokens as prompt and answer together may have."""

    prompt: int
    limit: int
    config: Operand
    """The limit, in the library's own frame."""


def violations_of(case: Case) -> Iterator[Violation]:
    """By the numbers that a library's frame below `generate` compares."""
    crash, own = case.crash, case.own
    names = [frame.function.rpartition(".")[2] for frame in crash.frames] if crash else []
    if crash is None or own is None or "generate" not in names:
        return
    values = {value.text: value for value in crash.frames[-1].values}
    prompt, limit = values.get("input_ids_length"), values.get("generation_config.max_length")
    if prompt is None or limit is None:
        return
    if type(prompt.scalar) is int and type(limit.scalar) is int and prompt.scalar >= limit.scalar:
        config = Operand(value=limit, name="`max_length`", frame=len(crash.frames) - 1)
        yield PromptTooLong(
            use=use_of(own), prompt=prompt.scalar, limit=limit.scalar, config=config
        )
