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
    names = [frame.function.rpartition(".")[2] for frame in case.frames]
    if case.own is None or "generate" not in names:
        return
    last = case.frames[-1]
    prompt, limit = last.value("input_ids_length"), last.value("generation_config.max_length")
    if prompt is None or limit is None:
        return
    asked, most = prompt.scalar, limit.scalar
    if type(asked) is int and type(most) is int and asked >= most:
        config = Operand(value=limit, name="`max_length`", frame=len(case.frames) - 1)
        yield PromptTooLong(use=use_of(case.own), prompt=asked, limit=most, config=config)
