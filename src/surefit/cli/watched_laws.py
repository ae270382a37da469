"""What `surefit run` and `surefit check` say of laws: which hold, on how much, and which were not
measured and why."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from surefit.doctor.cells import Cells
from surefit.render.json_document import Json

if TYPE_CHECKING:
    from surefit.laws.runs import LawState

MOST_REASONS = 3
"""That the line at the end of a run names."""
NO_STEP = "no optimizer step was taken, so no training was observed"


def lines(states: Sequence["LawState"], steps: int, cells: Cells | None = None) -> Iterator[str]:
    """`laws: 9 hold, 3 not measured (no evaluation was seen)`, and first that nothing trained."""
    if not steps:
        yield NO_STEP
    holds = [state for state in states if state_of(state) == "holds"]
    broken = [state for state in states if state_of(state) == "broken"]
    unmeasured = [state for state in states if state_of(state) == "not measured"]
    parts = []
    if holds:
        parts.append(f"{len(holds)} hold" if len(holds) > 1 else "1 holds")
    if broken:
        words = "; ".join(state.law.words for state in broken)
        parts.append(f"{len(broken)} broken ({words})")
    if unmeasured:
        reasons = as_read("; ".join(most_common_reasons(unmeasured)), cells)
        parts.append(f"{len(unmeasured)} not measured ({reasons})")
    if parts and steps:
        yield f"laws: {', '.join(parts)}; {steps:,} {'step' if steps == 1 else 'steps'}"


def most_common_reasons(unmeasured: Sequence["LawState"]) -> list[str]:
    """Those that most laws share first; the others are counted."""
    reasons = Counter(state.watched.why_not for state in unmeasured)
    shown = [reason for reason, _ in reasons.most_common(MOST_REASONS)]
    more = len(reasons) - len(shown)
    return [*shown, f"{more} more reasons: `--laws`"] if more > 1 else list(reasons)


def detail(states: Sequence["LawState"], cells: Cells | None = None) -> Iterator[str]:
    """A line for each law."""
    for state in states:
        what = state.watched.why_not or state.watched.on
        yield f"{state_of(state)}: {state.law.words}: {as_read(what, cells)}".rstrip(": ")


def state_of(state: "LawState") -> str:
    if state.broken:
        return "broken"
    return "not measured" if state.watched.why_not else "holds"


def part(states: Sequence["LawState"], cells: Cells | None = None) -> Json:
    """For the JSON document."""
    return [
        {
            "law": state.law.name,
            "words": state.law.words,
            "state": state_of(state),
            "on": as_read(state.watched.on, cells),
            "why_not": as_read(state.watched.why_not, cells),
        }
        for state in states
    ]


def as_read(text: str, cells: Cells | None) -> str:
    return text if cells is None else cells.text(text)
