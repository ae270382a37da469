"""A class that a loss ignores by its index, while the source does not say that it is none."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from surefit.doctor.findings import Fact
from surefit.doctor.measures.loss_inputs import LossSite
from surefit.doctor.recording import Recording
from surefit.doctor.words import code
from surefit.laws.losses.loss_law import measures
from surefit.laws.losses.loss_predictions import OfLossSite, broken

CONVOLUTION = re.compile(r"\bpadding(_mode)?\s*=\s*[\w\"'()]+|\bignore_index\b")
"""Words that say nothing of labels."""
NO_CLASS = re.compile(
    r"pad|void|ignor|unlabel|unknown|missing|invalid|nodata|no_data|Embedding|token|"
    r"!=\s*0\b|>\s*0\b|>=\s*1\b|\[1:\]|range\(1\b|\.ne\(|nonzero",
    re.IGNORECASE,
)
"""What a script says of labels that are none, or does to leave a class out of its metrics."""
LEAST, MOST = 0.005, 0.995


@dataclass(frozen=True, slots=True, kw_only=True)
class IgnoredClass(OfLossSite):
    """`ignore_index=0`, and 0 is a class like the others."""


def ignored_classes(recording: Recording) -> Iterator[IgnoredClass]:
    for measure in measures(recording):
        for site in measure.sites:
            if site.looked and site.place is not None:
                yield from ignored_class(site, recording)


def ignored_class(site: LossSite, recording: Recording) -> Iterator[IgnoredClass]:
    share = site.ignored / site.labels if site.labels else 0.0
    if not 0 <= site.ignore_index < site.classes or not LEAST < share < MOST:
        return
    if site.loaded != site.looked or says_that_some_are_none(recording):
        return
    said = (
        f"{code(site.name)} ignores class {site.ignore_index} (`ignore_index`), which is"
        f" {share:.0%} of the targets."
    )
    counted = Fact(f"targets of {site.ignore_index}", f"{site.ignored:,} of {site.labels:,}")
    yield IgnoredClass(
        **broken(site, recording, said, counted) | {"certain": False},  # type: ignore[arg-type]
    )


def says_that_some_are_none(recording: Recording) -> bool:
    texts = (CONVOLUTION.sub("", source.text) for source in recording.sources())
    return any(NO_CLASS.search(text) for text in texts)
