"""What was measured as tables in Markdown, with the aims beside the ratios."""

import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Answer = Mapping[str, Any]

NAMES = {
    "surefit": "**surefit**, default (bucketed)",
    "surefit-packing": "**surefit** `--packing`",
    "surefit-all": "**surefit** `--loss-on all`",
    "surefit-auto": "**surefit** `--precision auto`",
    "trl-bf16": "TRL, weights and arithmetic in bf16, adapters in fp32",
    "trl": "TRL SFTTrainer, defaults",
    "trl-packed": "TRL `packing=True`, batch 1",
    "trainer": "Trainer + DataCollatorForSeq2Seq, grouped by length",
    "trainer-all": "Trainer, the same, loss on all tokens",
    "llamafactory-packed": "LLaMA-Factory `packing` + `neat_packing`, batch 1",
    "axolotl-packed": "Axolotl `sample_packing`, batch 1",
}
ON_ALL = ("surefit-all", "trainer-all")
"""Set-ups whose supervised tokens are all tokens; they are no measure for the others."""


@dataclass(frozen=True, slots=True)
class Line:
    """One set-up: medians over its runs."""

    set_up: str
    runs: int
    steps: int
    supervised: float
    """Tokens per CPU-second, as `real`."""
    real: float
    memory: float
    waste: float
    first_step: float
    loss: float
    """Mean over the supervised tokens of the whole epoch."""

    def __str__(self) -> str:
        return (
            f"| {NAMES[self.set_up]} | {self.runs} | {self.steps} | {self.supervised:.0f} "
            f"| {self.real:.0f} | {self.memory:,.0f} | {self.waste:.1%} | {self.first_step:.1f} "
            f"| {self.loss:.4f} |"
        )


HEAD = (
    "| set-up | runs | steps | supervised tokens / CPU-s | real tokens / CPU-s "
    "| peak memory, MB | padding | CPU-s to the first step | loss of the epoch |\n"
    "| --- | --- | --- | --- | --- | --- | --- | --- | --- |"
)

CPU_ONLY = (
    "These are ratios on a CPU. On a GPU with Triton TRL gathers the supervised places before its "
    "loss, which it does not here: the ratio against TRL is no ratio on a GPU."
)


def line_of(set_up: str, answers: Sequence[Answer]) -> Line:
    def middle(values: Iterable[float]) -> float:
        return statistics.median(values)

    return Line(
        set_up,
        runs=len(answers),
        steps=answers[0]["steps"],
        supervised=middle(one["supervised"] / one["cpu"] for one in answers),
        real=middle(one["real"] / one["cpu"] for one in answers),
        memory=middle(one["memory"] for one in answers),
        waste=1 - answers[0]["real"] / answers[0]["padded"],
        first_step=middle(one["first_step"] for one in answers),
        loss=epoch_loss(answers[0]),
    )


def epoch_loss(answer: Answer) -> float:
    losses: list[float] = answer["losses"]
    places: list[int] = answer["places"]
    return sum(a * b for a, b in zip(losses, places, strict=True)) / sum(places)


@dataclass(frozen=True, slots=True)
class Aim:
    """A ratio that was to be reached."""

    what: str
    ratio: float
    limit: float
    at_least: bool

    def __str__(self) -> str:
        reached = self.ratio >= self.limit if self.at_least else self.ratio <= self.limit
        sign = "≥" if self.at_least else "≤"
        return (
            f"| {self.what} | {self.ratio:.2f} | {sign} {self.limit:g} "
            f"| {'yes' if reached else 'no'} |"
        )


RATIOS_HEAD = "| ratio | measured |\n| --- | --- |"
AIMS_HEAD = "| ratio | measured | aim | reached |\n| --- | --- | --- | --- |"


def aims(lines: Mapping[str, Line]) -> list[Aim]:
    """Those whose set-ups were measured."""
    found: list[Aim] = []

    def compare(what: str, mine: str, theirs: str, field: str, limit: float) -> None:
        if mine in lines and theirs in lines:
            one, other = (getattr(lines[name], field) for name in (mine, theirs))
            faster = field in ("supervised", "real")
            said = f"{what}: {plain(mine)} / {plain(theirs)}"
            found.append(Aim(said, one / other, limit, faster))

    compare("supervised tokens", "surefit", fastest(lines, "supervised"), "supervised", 3.0)
    compare("supervised tokens", "surefit-packing", "trl-packed", "supervised", 7.0)
    compare("peak memory, full logits", "surefit", "trainer", "memory", 0.25)
    for peer in ("llamafactory-packed", "axolotl-packed"):
        compare("peak memory, full logits", "surefit-packing", peer, "memory", 0.25)
    compare("peak memory", "surefit-packing", "trl-packed", "memory", 0.6)
    compare("padding, padded batches", "surefit", "trainer", "waste", 1.0)
    compare("first step", "surefit", "trainer", "first_step", 1.0)
    compare("loss on all, real tokens", "surefit-all", fastest(lines, "real"), "real", 1.0)
    return found


def fastest(lines: Mapping[str, Line], field: str) -> str:
    """The peer with the most tokens per CPU-second; empty if none was measured."""
    peers = [
        line
        for line in lines.values()
        if not line.set_up.startswith("surefit") and (field == "real" or line.set_up not in ON_ALL)
    ]
    return max(peers, key=lambda line: float(getattr(line, field))).set_up if peers else ""


def ratios(lines: Mapping[str, Line], *, aimed: bool) -> str:
    """A table; empty if nothing can be compared. Aims were set for the first workload alone."""
    found = aims(lines)
    if not found:
        return ""
    if aimed:
        return "\n".join([AIMS_HEAD, *map(str, found)])
    return "\n".join([RATIOS_HEAD, *(f"| {one.what} | {one.ratio:.2f} |" for one in found)])


def plain(set_up: str) -> str:
    return NAMES[set_up].replace("**", "")


def versions(answers: Iterable[Answer]) -> list[str]:
    """Each set of versions once."""
    sets = (", ".join(f"{k} {v}" for k, v in one["versions"].items()) for one in answers)
    return sorted(set(sets))


def same_batches(answer: Mapping[str, Sequence[float]]) -> str:
    theirs = answer["Trainer"]
    rows = [
        "| losses step by step on the same batches | steps | first | last "
        "| largest relative difference | aim | reached |",
        "| --- | --- | --- | --- | --- | --- | --- |",
        f"| Trainer | {len(theirs)} | {theirs[0]:.6f} | {theirs[-1]:.6f} | | | |",
    ]
    for name in ("surefit", "surefit --packing"):
        mine = answer[name]
        most = max(abs(a - b) / b for a, b in zip(mine, theirs, strict=True))
        reached = "yes" if most <= 1e-5 else "no"
        rows.append(
            f"| {name} | {len(mine)} | {mine[0]:.6f} | {mine[-1]:.6f} | {most:.1e} "
            f"| ≤ 1e-05 | {reached} |"
        )
    return "\n".join(rows)


def collation(answer: Mapping[str, float]) -> str:
    copy, theirs = answer["bare copy"], answer["DataCollatorForSeq2Seq"]
    rows = [
        "| collation of 4 rows | µs a batch | × bare copy | × DataCollatorForSeq2Seq |",
        "| --- | --- | --- | --- |",
    ]
    rows += [
        f"| {name} | {taken * 1e6:.1f} | {taken / copy:.1f} | {taken / theirs:.2f} |"
        for name, taken in answer.items()
    ]
    return "\n".join(rows)
