"""In a launched run: which ranks showed a fault, and one finding for what several of them show."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace

from surefit.doctor.causes import failed
from surefit.doctor.findings import Fact, Finding
from surefit.doctor.observations import Crash
from surefit.doctor.recording import Recording
from surefit.doctor.words import listed


def with_ranks(finding: Finding, ranks: Iterable[int]) -> Finding:
    return replace(finding, ranks=tuple(sorted({*finding.ranks, *ranks})))


def by_rank(findings: Sequence[Finding], seen: Recording) -> list[Finding]:
    """One finding where several ranks show the same rule at the same place; each says which."""
    kept: list[Finding] = []
    for finding in findings:
        equal = [at for at, other in enumerate(kept) if are_one(other, finding)]
        if equal:
            kept[equal[0]] = with_ranks(kept[equal[0]], finding.ranks)
        else:
            kept.append(finding)
    whole = (with_ranks(finding, ranks_alike(finding, seen)) for finding in kept)
    return [told(finding, seen) for finding in whole]


def are_one(one: Finding, other: Finding) -> bool:
    """By rule and place, where they come from different ranks."""
    same = (one.rule, one.place) == (other.rule, other.place)
    return same and bool(other.ranks) and not set(other.ranks) <= set(one.ranks)


def ranks_alike(finding: Finding, seen: Recording) -> list[int]:
    """Ranks that failed in the same way at the same line, before the news could reach them."""
    crash = seen.crash(finding.about or None)
    if crash is None or not finding.ranks:
        return []
    alike = [other for other in failed(seen) if way(other) == way(crash)]
    return [other.process.rank for other in alike if other.process.rank is not None]


def way(crash: Crash) -> tuple[str, object, str]:
    """How a crash came about, whatever numbers it names."""
    frame = crash.own_frame
    return crash.kind, frame and (frame.place, frame.line), re.sub(r"[\d.]+", "#", crash.said)


def told(finding: Finding, seen: Recording) -> Finding:
    """Says the ranks among the facts, unless the rule has."""
    if not finding.ranks or any(fact.name.startswith("on rank") for fact in finding.facts):
        return finding
    worlds = [one.process.world for one in seen.observations if hasattr(one, "process")]
    world = max((size for size in worlds if size), default=None)
    if world is None or world < 2:
        return finding
    name = "on rank" if len(finding.ranks) == 1 else "on ranks"
    value = f"{listed(finding.ranks)} of {world}"
    return replace(finding, facts=(*finding.facts, Fact(name, value)))
