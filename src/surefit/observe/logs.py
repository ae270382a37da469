"""Tracebacks in pasted text and in logs: text -> plain data, the cause first."""

import re
from collections.abc import Iterator, Sequence

from surefit.doctor.tracebacks import Raised, Traceback
from surefit.observe.log_forms import Block, block_at, died

COLOURS = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b[@-_]")
CHAINED = re.compile(
    r"The above exception was the direct cause of the following exception"
    r"|During handling of the above exception, another exception occurred"
)
CAUGHT = re.compile(
    r"Caught \w+ in (?:DataLoader worker process|replica|pin memory thread)"
    r"|terminated with the following error"
)
"""A process that only passes on what another one raised, whose traceback comes next."""
NOT_THE_CAUSE = re.compile(r"Exception ignored in|--- Logging error ---")
NO_FAULT = ("KeyboardInterrupt", "SystemExit", "GeneratorExit", "BrokenPipeError")
ALONE = re.compile(
    r"^(?:\[[^\]]*\]:?\s*|>\s*|E\s+)*(?P<said>(?:[A-Za-z_]\w*\.)*[A-Z]\w*"
    r"(?:Error|Exception|Exhausted|Timeout)(?::.*|$))"
)
"""An exception without frames, by the endings that such names have."""
LONGEST_LINE = 1000
"""Of a line that stands alone: what is longer is no message, and takes a pattern forever."""
NEAR = 6
"""Lines between two tracebacks of one chain, at most."""


def read_traceback(text: str) -> Traceback | None:
    """The first traceback that is no consequence; None where the text holds nothing of the kind."""
    plain = COLOURS.sub("", text).replace("\r\n", "\n")
    lines = [line.rpartition("\r")[2].rstrip() for line in plain.split("\n")]
    chains = list(chains_in(lines))
    causes = [chain for chain in chains if kind_of(chain[0]) not in NO_FAULT] or chains
    if causes:
        return Traceback(tuple(causes[0]), len(causes) - 1)
    short = [line[:LONGEST_LINE] for line in lines]
    alone = said_alone(short) or died(short)
    return Traceback((alone,)) if alone else None


def kind_of(raised: Raised) -> str:
    return raised.said.partition(":")[0].rpartition(".")[2]


def chains_in(lines: Sequence[str]) -> Iterator[list[Raised]]:
    chain: list[Raised] = []
    end = 0
    for begin, block in blocks_in(lines):
        between = lines[max(end - 1, begin - NEAR) : begin]
        passes_on = bool(chain) and any(CAUGHT.search(line) for line in (chain[-1].said, *between))
        if chain and not passes_on and not any(CHAINED.search(line) for line in between):
            yield chain
            chain = []
        at = len(chain) - 1 if passes_on else len(chain)
        chain = [*chain[:at], block.raised, *chain[at:]]
        end = block.end
    if chain:
        yield chain


def blocks_in(lines: Sequence[str]) -> Iterator[tuple[int, Block]]:
    """Tracebacks with the line that they begin on, but for those of errors that Python ignored."""
    at = 0
    while at < len(lines):
        block = block_at(lines, at)
        if block is None:
            at += 1
            continue
        if not any(NOT_THE_CAUSE.search(line) for line in lines[max(0, at - 1) : at]):
            yield at, block
        at = max(block.end, at + 1)


def said_alone(lines: Sequence[str]) -> Raised | None:
    return next((Raised(found["said"]) for line in lines if (found := ALONE.match(line))), None)
