"""What was done to runs, how often, and what they lost: rows of one table."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from .children import BROKEN, Child
from .ends import saved_step, steps_of


@dataclass(slots=True)
class Outcome:
    """A row of the table."""

    what: str
    times: int = 0
    lost: list[str] = field(default_factory=list)
    """A line each: at which seed, and what."""

    notes: list[str] = field(default_factory=list)
    """What else is to know of those that lost nothing."""

    steps_again: list[int] = field(default_factory=list)
    """Steps since the newest checkpoint, which a resumed run takes again."""

    def add(self, moment: str, lost: Sequence[str]) -> None:
        self.times += 1
        if lost:
            self.lost.append(f"{moment}: {'; '.join(lost)}")

    def count_again(self, run: Path) -> None:
        self.steps_again.append(max(0, steps_of(run) - saved_step(run)))

    @property
    def told(self) -> str:
        again = f"steps taken again: at most {max(self.steps_again)}" if self.steps_again else ""
        what = "nothing" if not self.lost else f"something, {len(self.lost)} times"
        return "; ".join(filter(None, [what, *self.notes, again]))


def table(outcomes: Iterable[Outcome]) -> str:
    """As Markdown, to be read in a terminal, too."""
    rows = [("what", "times", "what was lost")]
    rows += [(row.what, str(row.times), row.told) for row in outcomes]
    widths = [max(len(row[column]) for row in rows) for column in range(3)]
    rows.insert(1, ("-" * widths[0], "-" * (widths[1] - 1) + ":", "-" * widths[2]))
    return "\n".join(
        f"| {a:{widths[0]}} | {b:>{widths[1]}} | {c:{widths[2]}} |" for a, b, c in rows
    )


def refused(child: Child, *rules: str) -> list[str]:
    """What is wrong with an end that should be a finding of one of these rules."""
    code = child.wait()
    if code is None:
        return ["it hangs"]
    said = child.said
    if code in (0, BROKEN) or code < 0 or "Traceback" in said or "fault of surefit" in said:
        return [f"exit code {code}: {last_line(said)}"]
    if not any(rule in said for rule in rules):
        return [f"none of {', '.join(rules)} in: {last_line(said)}"]
    return []


def succeeded(child: Child) -> list[str]:
    code = child.wait()
    if code is None:
        return ["it hangs"]
    return [] if code == 0 else [f"exit code {code}: {last_line(child.said)}"]


def last_line(said: str) -> str:
    """Of a finding its headline, of a traceback its end."""
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    heads = [number for number, line in enumerate(lines) if line.startswith("── error")]
    if heads:
        return " ".join(lines[heads[-1] : heads[-1] + 2])[:200]
    return lines[-1][:200] if lines else "nothing said"
