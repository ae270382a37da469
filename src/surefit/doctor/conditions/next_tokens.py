"""Targets of a language model's loss, as the patched run shows them."""

from dataclasses import dataclass

from surefit.doctor.conditions.condition import Judgement, Needs
from surefit.doctor.measures.loss_inputs import SHIFTS, CollatedLabels, LossMeasure, TokenSite
from surefit.doctor.recording import Recording
from surefit.doctor.words import counted

FEWEST = 32
NEXT = SHIFTS.index(1)
STEPS = 3
NOT_COMPARED = "no targets were compared with tokens"


@dataclass(frozen=True, slots=True, kw_only=True)
class NextTokenIsTarget:
    """Every target that counts is the token after its position; before, it was not."""

    steps: int = STEPS

    def needs(self, before: Recording) -> Needs:  # noqa: ARG002
        return Needs(steps=self.steps, changes_the_past=True, first_run_shows=True)

    def judge(self, before: Recording, after: Recording) -> Judgement:  # noqa: ARG002
        sites = [site for site in token_sites(after) if site.compared[NEXT] >= FEWEST]
        if not sites:
            return Judgement(False, NOT_COMPARED, decided=False)
        worst = min(sites, key=lambda site: site.matches[NEXT] / site.compared[NEXT])
        equal, compared = worst.matches[NEXT], worst.compared[NEXT]
        said = f"{equal:,} of {compared:,} targets are the next token"
        return Judgement(equal == compared, said)


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoredFrom:
    """The first token that counts stands at this position of every row, and it is not always the
    same token that does."""

    position: int
    steps: int = STEPS

    def needs(self, before: Recording) -> Needs:  # noqa: ARG002
        return Needs(steps=self.steps, changes_the_past=True, first_run_shows=True)

    def judge(self, before: Recording, after: Recording) -> Judgement:  # noqa: ARG002
        sites = [site for site in token_sites(after) if site.first_scored is not None]
        if not sites:
            return Judgement(False, NOT_COMPARED, decided=False)
        for site in sites:
            if site.constant is not None:
                return Judgement(False, f"only the token {site.constant} counts")
            if site.first_scored != (self.position, self.position):
                return Judgement(False, f"the first token that counts is at {site.first_scored}")
        scored = sum(site.scored for site in sites)
        said = f"{counted(scored, 'target')} count, from position {self.position} on"
        return Judgement(True, said)


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelsSurvive:
    """As many labels count after a collator as in the rows before it."""

    steps: int = STEPS

    def needs(self, before: Recording) -> Needs:  # noqa: ARG002
        return Needs(steps=self.steps, changes_the_past=True, first_run_shows=True)

    def judge(self, before: Recording, after: Recording) -> Judgement:  # noqa: ARG002
        every = [
            collated for measure in after.all(CollatedLabels) for collated in measure.collators
        ]
        if not every:
            return Judgement(False, "no collator was seen with labels", decided=False)
        rows = sum(collated.supervised for collated in every)
        batches = sum(collated.supervised_after for collated in every)
        said = f"{rows:,} labels of the rows count, and {batches:,} of the batches"
        return Judgement(rows == batches > 0, said)


def token_sites(recording: Recording) -> list[TokenSite]:
    return [site for measure in recording.all(LossMeasure) for site in measure.tokens]


@dataclass(frozen=True, slots=True, kw_only=True)
class PaddingNotScored:
    """Padding is there, none of it counts, and the other targets do as before."""

    steps: int = STEPS

    def needs(self, before: Recording) -> Needs:  # noqa: ARG002
        return Needs(steps=self.steps, changes_the_past=True, first_run_shows=True)

    def judge(self, before: Recording, after: Recording) -> Judgement:  # noqa: ARG002
        sites = [site for site in token_sites(after) if site.padded]
        if not sites:
            return Judgement(False, "no padding was seen", decided=False)
        padded = sum(site.padded for site in sites)
        counting = sum(site.padded_scored for site in sites)
        scored = sum(site.scored for site in sites)
        said = (
            f"{counting:,} of {counted(padded, 'position')} of padding count, and {scored:,} others"
        )
        return Judgement(counting == 0 < scored, said)


@dataclass(frozen=True, slots=True, kw_only=True)
class EndIsTarget:
    """The end token is a target in every row that ends with it."""

    steps: int = STEPS

    def needs(self, before: Recording) -> Needs:  # noqa: ARG002
        return Needs(steps=self.steps, changes_the_past=True, first_run_shows=True)

    def judge(self, before: Recording, after: Recording) -> Judgement:  # noqa: ARG002
        sites = [site for site in token_sites(after) if site.ends]
        if not sites:
            return Judgement(False, "no row with an end token was seen", decided=False)
        ends, scored = sum(site.ends for site in sites), sum(site.ends_scored for site in sites)
        return Judgement(
            ends == scored, f"the end token is a target in {scored:,} of {ends:,} rows"
        )
