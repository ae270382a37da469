"""The held-out rows as student and teacher see them, and the best weights so far."""

import math
from collections.abc import Iterator
from dataclasses import asdict, dataclass, fields, replace
from typing import Any

import torch
from accelerate import Accelerator

from surefit.data.batches import Batch, PadRows
from surefit.data.templates import Tokenizer
from surefit.data.tokens import TokenSet
from surefit.doctor.findings import Fact, Finding, Fix, Place
from surefit.doctor.rule import refusal
from surefit.errors import BadInput
from surefit.losses.comparison import Compared, compared
from surefit.losses.places import find_places
from surefit.losses.student import StudentLoss, Voice
from surefit.metrics.held_out import HeldOut
from surefit.models.save import save_trained
from surefit.models.shards import is_sharded, whole_weights
from surefit.render.console import progress, say
from surefit.train.progress import Progress
from surefit.train.ranks import Ranks
from surefit.train.record import RunFolder, is_score
from surefit.train.step import to_device

from .distill_batches import numbered
from .distill_report import Tally, say_before, say_step
from .distill_teacher import Teaching
from .sft_judge import outermost_whole

EVALUATION_FAILED = refusal(
    "SF080", "evaluation-failed", "A batch of held-out rows could not be evaluated."
)

FAILURES = (RuntimeError, ValueError, IndexError, TypeError, ArithmeticError)
"""What a model of whatever kind raises on a batch that it cannot take."""


@dataclass(frozen=True, slots=True)
class Judge:
    """Evaluates the held-out rows and keeps the best weights."""

    folder: RunFolder
    accelerator: Accelerator
    student: StudentLoss
    teaching: Teaching
    tokenizer: Tokenizer
    held_out: TokenSet
    batch_size: int
    ranks: Ranks
    outermost: Any
    """What was prepared for training, around the student."""

    def batches(self) -> list[list[int]]:
        """Rows of like length together; the same in every evaluation."""
        order = sorted(range(len(self.held_out)), key=self.held_out.lengths.__getitem__)
        return [order[at : at + self.batch_size] for at in range(0, len(order), self.batch_size)]

    def before(self, state: Progress) -> None:
        found = self.score(self.teaching.own_voice)
        self._add(state, found)
        say_before(found)

    def after(self, state: Progress, tally: Tally) -> Progress:
        """The evaluation after a step, said and written down; the best weights are kept."""
        found = self.score(self.teaching.own_voice)
        self._add(state, found)
        say_step(state.step, tally.means(), found)
        return self._kept_if_best(state, found)

    def say_experts(self) -> None:
        """What the teacher is worth as it is, and with all of its experts."""
        own, with_all = (
            self.score(voice).teacher_perplexity
            for voice in (self.teaching.own_voice, self.teaching.with_all)
        )
        if own is not None and with_all is not None:
            used = self.teaching.routers[0].used
            say(
                f"Teacher on the held-out rows: ppl {own} with {used} experts per token, "
                f"{with_all} with all experts"
            )

    def scores_of(self, *steps: int) -> list[HeldOut]:
        """The evaluations after these steps, as they were written down."""
        found = {record["step"]: record for record in self.folder.metrics() if is_score(record)}
        names = [one.name for one in fields(HeldOut)]
        return [HeldOut(**{name: found[step][name] for name in names}) for step in steps]

    def _add(self, state: Progress, found: HeldOut) -> None:
        self.folder.add({"step": state.step, "perplexity": found.perplexity.value, **asdict(found)})

    @torch.no_grad()
    def score(self, voice: Voice) -> HeldOut:
        """Over all held-out rows; raises `BadInput` if a single batch of them fails."""
        model, batches = self.student.model, self.batches()
        was_training = model.training
        model.eval()
        failed: Finding | None = None
        sums, teacher_known = [0.0] * 5, True
        try:
            with progress("Evaluating", len(batches)) as bar, outermost_whole(self.outermost):
                for number, counts in self._own(len(batches)):
                    found = self._compared(number, batches[number], len(batches), voice)
                    teacher_known = found.teacher_cross_entropy is not None
                    if counts:
                        sums = [sum(pair) for pair in zip(sums, _figures(found), strict=True)]
                    bar.step(self.ranks.world)
        except BadInput as error:
            failed = error.findings[0]
        finally:
            model.train(was_training)
        if self.ranks.any(failed is not None):
            if failed is None:
                raise SystemExit(1)  # the process whose batch it was says why
            raise BadInput(failed)
        own, of_teacher, apart, agreeing, places = self.ranks.summed(*sums)
        return HeldOut(
            own / places,
            of_teacher / places if teacher_known else None,
            apart / places,
            agreeing / places,
            int(places),
            len(batches),
        )

    def _own(self, batches: int) -> Iterator[tuple[int, bool]]:
        """The numbers of this process's batches, and whether they count.

        Every pass of a sharded model needs all processes: where there is no batch left for this
        one, it goes along with the first one's.
        """
        in_step = is_sharded(self.student.model)
        for first in range(0, batches, self.ranks.world):
            number = first + self.ranks.rank
            if number < batches:
                yield number, True
            elif in_step:
                yield first, False

    def _compared(self, number: int, rows: list[int], batches: int, voice: Voice) -> Compared:
        try:
            batch = to_device(self.accelerator, self._batch(rows))
            places = find_places(batch["labels"])
            with self.accelerator.autocast():
                states = self.student.states(batch, places)
            said = voice(batch, places)
            found = compared(states, self.student.head, said, places.targets)
        except FAILURES as error:
            raised = f"{type(error).__name__}: {error}"
            raise BadInput(self._failed(number, rows, batches, raised)) from error
        own, _, apart, *_ = _figures(found)
        if not math.isfinite(own + apart):
            seen = f"cross entropy {own}, divergence {apart}"
            raise BadInput(self._failed(number, rows, batches, None, seen))
        return found

    def _batch(self, rows: list[int]) -> Batch:
        collate = PadRows(pad_id=self.tokenizer.pad_token_id)
        return numbered(collate(self.held_out.features(rows)), rows)

    def _failed(
        self, number: int, rows: list[int], batches: int, raised: str | None, seen: str = ""
    ) -> Finding:
        places = [str(self.held_out.rows[row].place) for row in rows]
        longest = max(int(self.held_out.lengths[row]) for row in rows)
        return EVALUATION_FAILED.finding(
            Place(str(self.folder.path)),
            f"Batch {number + 1} of {batches} of the held-out rows could not be evaluated. The run "
            "stopped, because a mean over the remaining batches would not be comparable.",
            facts=[
                Fact("its rows", ", ".join(places[:8]) + (" ..." if len(places) > 8 else "")),
                Fact("its size", f"{len(rows)} rows x {longest} tokens"),
                *([Fact("sums over it", seen)] if seen else []),
            ],
            fixes=[Fix("Try `--precision fp32`, or inspect these rows:  surefit inspect DATA")],
            python_said=(raised or "").splitlines()[0] if raised else "",
        )

    def _kept_if_best(self, state: Progress, found: HeldOut) -> Progress:
        """Of equal evaluations the later is the best."""
        score = -found.cross_entropy
        if state.best_score is not None and score < state.best_score:
            return state
        self.save(state.step)
        return replace(state, best_epoch=state.step, best_score=score)

    def save(self, step: int) -> None:
        model: Any = self.student.model
        weights = whole_weights(model, keep=self.ranks.is_first)
        place = self.folder.best(step)
        self.ranks.first_does(lambda: save_trained(model, self.tokenizer, place, weights))


def _figures(found: Compared) -> list[float]:
    """Sums over places, and their count; of a teacher of which it is not known, 0."""
    of_teacher = found.teacher_cross_entropy
    return [
        float(found.cross_entropy),
        0.0 if of_teacher is None else float(of_teacher),
        float(found.divergence),
        float(found.agreeing),
        float(found.places),
    ]
