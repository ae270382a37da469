"""Every weight that should learn, learns."""

from collections.abc import Iterator
from dataclasses import dataclass

from surefit.doctor.findings import Fact, Place
from surefit.doctor.measures.idle_optimizers import IdleOptimizer, IdleOptimizers
from surefit.doctor.measures.weights_learn import HeldWeights, WeightsLearn
from surefit.doctor.observations import OptimizerSeen, ParameterSeen, Steps
from surefit.doctor.progress import final_steps
from surefit.doctor.recording import Recording
from surefit.doctor.violations import Expression
from surefit.doctor.words import counted, some
from surefit.laws.case import Case
from surefit.laws.contracts.finite_values import ends_the_run
from surefit.laws.law import BrokenLaw, Law, MeasuredOn
from surefit.laws.layers.parameter_groups import smallest_groups
from surefit.laws.training.creation_order import stands_still
from surefit.laws.training.made_names import name_at

LAW = Law("weights_learn", "every weight that should learn, learns")

FEWEST_EMPTY = 2
FEWEST_ZERO = 2
CERTAINLY_ZERO = 5
FEWEST_ZERO_IN_PART = 8
FEWEST_SKIPPED = 8
MOST_SKIPPED = 0.9
FEWEST_AT_REST = 5
FEWEST_PASSES = 6
FEWEST_MISSING = 2
FEWEST_IDLE = 24
"""Steps of others, from the first look to the last, over which an optimizer has not stepped."""
PROOF_STEPS = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class OfOptimizer(BrokenLaw):
    """What the weights of one optimizer lack."""

    optimizer: OptimizerSeen
    held: HeldWeights
    name: str
    """What the user calls the optimizer, in backticks."""


class LeafLoss(OfOptimizer):
    """Every backward pass began at a tensor that no operation made."""


class FrozenWeights(OfOptimizer):
    """No tensor that the optimizer holds requires grad."""


class NoGradientArrives(OfOptimizer):
    """Tensors of the optimizer require grad, and none of them ever gets one."""


class RateOfZero(OfOptimizer):
    """Every step was taken with a learning rate of zero."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UpdatesTooSmall(OfOptimizer):
    """Gradients are there, and float32 has no number between a weight and the weight it should
    become."""

    sampled: int


@dataclass(frozen=True, slots=True, kw_only=True)
class WeightsAreNan(OfOptimizer):
    """Weights have become NaN."""

    by: int
    """Steps of all optimizers when it was noticed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EveryStepSkipped(BrokenLaw):
    """A gradient scaler left out the steps, because gradients were not finite."""

    skipped: int
    taken: int


@dataclass(frozen=True, slots=True, kw_only=True)
class EveryGradientZero(BrokenLaw):
    """Every gradient of every parameter was there, and exactly zero."""

    trained: Steps


@dataclass(frozen=True, slots=True, kw_only=True)
class NoStepTaken(BrokenLaw):
    """Backward passes, and nothing moves: no optimizer stepped, no line of the user's did."""

    measured: WeightsLearn


@dataclass(frozen=True, slots=True, kw_only=True)
class OptimizerNeverSteps(BrokenLaw):
    """Its parameters get gradients and never change, while other optimizers step."""

    idle: IdleOptimizer
    name: str
    """What the user calls it, without backticks; its class where it has no name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PartWithoutGradient(OfOptimizer):
    """A part of what the optimizer holds requires grad and never gets one, while the rest does."""

    groups: tuple[str, ...]
    """The fewest modules that it is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PartWithZeroGradient(BrokenLaw):
    """Gradients of a part of the model are there and exactly zero, at every step."""

    names: tuple[str, ...]
    groups: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class LayerHeldInPart(BrokenLaw):
    """Of layers an optimizer holds the weight and not the bias, and both get gradients."""

    outside: tuple[ParameterSeen, ...]
    held_by: OptimizerSeen


def violations_of(case: Case) -> Iterator[BrokenLaw]:
    measures = {measure.process.pid: measure for measure in case.recording.all(WeightsLearn)}
    for steps in final_steps(case.recording):
        measure = measures.get(steps.process.pid) or WeightsLearn(process=steps.process)
        if steps.process.rank not in (None, 0):
            continue
        looks = WeightLooks(case, steps, measure)
        yield from looks.of_the_run()
        for idle in looks.idle_optimizers():
            yield looks.never_steps(idle)
        for held in measure.held:
            for optimizer in steps.optimizers:
                if optimizer.serial == held.optimizer:
                    yield from looks.of_optimizer(optimizer, held)


@dataclass(frozen=True, slots=True)
class WeightLooks:
    """One process: what it trained, and what was measured of it."""

    case: Case
    steps: Steps
    measure: WeightsLearn

    def of_the_run(self) -> Iterator[BrokenLaw]:
        yield from self.every_step_skipped()
        yield from self.every_gradient_zero()
        yield from self.no_step_taken()
        yield from self.layers_held_in_part()

    def of_optimizer(self, optimizer: OptimizerSeen, held: HeldWeights) -> Iterator[BrokenLaw]:
        if held.not_numbers and not ends_the_run(self.case.recording):
            yield self.not_numbers(optimizer, held)
        if held.empty >= FEWEST_EMPTY and held.empty == optimizer.looked:
            yield from self.without_gradients(optimizer, held)
        elif self.is_at_rest(optimizer, held):
            yield from self.at_rest(optimizer, held)
        elif held.missing and held.missing_looked >= FEWEST_MISSING:
            yield from self.part_without_gradient(optimizer, held)

    # one optimizer

    def without_gradients(self, optimizer: OptimizerSeen, held: HeldWeights) -> Iterator[BrokenLaw]:
        if held.cleared or self.has_rivals(optimizer, held):
            return  # gradients are cleared before the step; or it has nothing to do in this phase
        name, many = self.name_of(optimizer), counted(held.empty, "step")
        tensors = counted(held.tensors, "tensor")
        if not held.trainable:
            yield self.of(
                FrozenWeights,
                optimizer,
                held,
                f"None of the {tensors} that {name} holds requires grad: at {many} none had a"
                " gradient, and nothing learns.",
                optimizer.made_at,
            )
        elif held.leaf == held.empty:
            yield self.of(
                LeafLoss,
                optimizer,
                held,
                "`backward` began at a tensor that no operation made (a leaf): at each of"
                f" {many} none of the {tensors} that {name} holds had a gradient.",
                self.measure.leaf_at,
            )
        elif not self.are_made_later(optimizer):
            without = " `backward` never ran before a step." if not self.steps.backwards else ""
            yield self.of(
                NoGradientArrives,
                optimizer,
                held,
                f"None of the {tensors} that {name} holds had a gradient at any of {many}, though"
                f" {held.trainable:,} require one.{without}",
                optimizer.made_at,
                fault=f"gradients cleared {optimizer.serial}",  # if they were, that explains it
            )

    def has_rivals(self, optimizer: OptimizerSeen, held: HeldWeights) -> bool:
        """Other optimizers learn in the same phase, and the parameters of this one are frozen, or
        belong to a model that nobody calls."""
        learning = [
            other
            for other in self.measure.held
            if other.optimizer != held.optimizer
            and other.first_step < held.last_step
            and held.first_step < other.last_step
            and not other.empty
        ]
        if not learning:
            return False
        roots = {known.root for known in self.steps.parameters if known.held_by == optimizer.serial}
        called = [root for root in self.steps.roots if root.serial in roots and root.training]
        return not held.trainable or not called

    def are_made_later(self, optimizer: OptimizerSeen) -> bool:
        """The parameters that do get gradients were made after the optimizer: the rule on
        parameters outside the optimizer has that."""
        still = [known for known in self.steps.outside if stands_still(known)]
        return any(known.serial > optimizer.serial or not known.registered for known in still)

    def is_at_rest(self, optimizer: OptimizerSeen, held: HeldWeights) -> bool:
        others = [
            other for other in self.steps.optimizers if other is not optimizer and other.steps
        ]
        if any(other.highest_rate > 0 for other in others):
            return False
        if optimizer.looked < FEWEST_AT_REST or held.empty:
            return False
        if optimizer.highest_rate == 0.0:
            return not self.moves(optimizer)
        return self.lost_updates(optimizer) > 0

    def moves(self, optimizer: OptimizerSeen) -> bool:
        """Its steps change weights: the rate is not among its own settings, but in an optimizer
        inside it."""
        held = [known for known in self.steps.parameters if known.held_by == optimizer.serial]
        return any(known.sampled > known.unchanged for known in held)

    def lost_updates(self, optimizer: OptimizerSeen) -> int:
        """Elements of float32 with a gradient that no step changed; 0 where one did."""
        held = [known for known in self.steps.parameters if known.held_by == optimizer.serial]
        sampled = sum(known.sampled for known in held)
        unchanged = sum(known.unchanged for known in held)
        plain = all(known.dtype in ("float32", "float64") for known in held if known.sampled)
        fits = plain and sampled >= 100 and unchanged == sampled and self.steps.steps >= 10
        return sampled if fits and 0 < optimizer.highest_rate < 1e-6 else 0

    def at_rest(self, optimizer: OptimizerSeen, held: HeldWeights) -> Iterator[BrokenLaw]:
        name, many = self.name_of(optimizer), counted(optimizer.steps, "step")
        if optimizer.highest_rate == 0.0:
            said = f"{name} took {many} with a learning rate of 0: no weight can move."
            yield self.of(RateOfZero, optimizer, held, said, optimizer.made_at)
            return
        sampled = self.lost_updates(optimizer)
        said = (
            f"{name} took {many} with a learning rate of at most {optimizer.highest_rate:g}: of"
            f" {sampled:,} weights with a gradient that were looked at, none changed."
        )
        more = {"sampled": sampled, "steps": held.first_step + 12}
        yield self.of(UpdatesTooSmall, optimizer, held, said, optimizer.made_at, **more)

    def not_numbers(self, optimizer: OptimizerSeen, held: HeldWeights) -> BrokenLaw:
        by = held.not_numbers_by
        name = self.name_of(optimizer)
        return self.of(
            WeightsAreNan,
            optimizer,
            held,
            f"{held.not_numbers:,} of the {counted(held.tensors, 'tensor')} that {name} trains hold"
            f" NaN after {counted(by, 'step')}: nothing can be learned any more.",
            self.steps.loss_at or optimizer.made_at,
            steps=min(held.last_step, max(2 * by, by + 20)),
            fault="numbers that are not finite",
            by=by,
        )

    def part_without_gradient(
        self, optimizer: OptimizerSeen, held: HeldWeights
    ) -> Iterator[BrokenLaw]:
        learned = {
            known.name
            for known in self.steps.parameters
            if known.held_by != optimizer.serial and known.sampled > known.unchanged
        }
        names = [name for name in held.missing if name not in learned]
        every = [known.name for known in self.steps.parameters if known.held_by == optimizer.serial]
        if not names:
            return
        groups = smallest_groups(names, every)
        name = self.name_of(optimizer)
        yield self.of(
            PartWithoutGradient,
            optimizer,
            held,
            f"No gradient ever comes to {some(groups)}, though {name} holds these parameters and"
            " they require one.",
            optimizer.made_at,
            certain=False,
            fault=f"no gradient for {groups[0]}",
            groups=tuple(groups),
        )

    # the whole run

    def every_step_skipped(self) -> Iterator[BrokenLaw]:
        skipped, taken = self.steps.skipped, self.steps.steps
        if skipped < FEWEST_SKIPPED or skipped < MOST_SKIPPED * (skipped + taken):
            return
        every = "every step" if not taken else f"{skipped:,} of {skipped + taken:,} steps"
        yield EveryStepSkipped(
            use=self.expression(self.steps.loss_at),
            said=f"The gradient scaler skipped {every} ({skipped:,}), because gradients were not"
            " finite: no weight was updated by them.",
            steps=min(skipped, 20),
            fault="numbers that are not finite",
            skipped=skipped,
            taken=taken,
        )

    def every_gradient_zero(self) -> Iterator[BrokenLaw]:
        steps = self.steps
        present = [known for known in steps.parameters if known.looked > known.absent]
        if steps.steps < FEWEST_ZERO or steps.losses_not_finite or not present:
            return
        if steps.least_loss in (None, 0.0) or steps.greatest_loss == 0.0:
            return  # a margin is kept: nothing is left to learn
        if any(known.zero < known.looked - known.absent or known.not_finite for known in present):
            yield from self.some_gradients_zero(present)
            return
        looked = max(known.looked for known in present)
        yield EveryGradientZero(
            use=self.expression(steps.loss_at),
            said=f"The gradient of every parameter is exactly zero, at each of"
            f" {counted(looked, 'step')} looked at: nothing learns.",
            steps=min(steps.steps, PROOF_STEPS),
            fault="every gradient is zero",
            certain=looked >= CERTAINLY_ZERO,
            trained=steps,
        )

    def some_gradients_zero(self, present: list[ParameterSeen]) -> Iterator[BrokenLaw]:
        dead = [
            known
            for known in present
            if known.zero == known.looked - known.absent >= FEWEST_ZERO_IN_PART
        ]
        if not dead or self.steps.steps < FEWEST_ZERO_IN_PART:
            return
        groups = smallest_groups([known.name for known in dead], [known.name for known in present])
        yield PartWithZeroGradient(
            use=self.expression(self.steps.loss_at),
            said=f"The gradient of {some(groups)} is exactly zero, at every step looked at.",
            steps=min(self.steps.steps, FEWEST_ZERO_IN_PART),
            fault=f"zero gradient of {groups[0]}",
            certain=False,
            names=tuple(known.name for known in dead[:256]),
            groups=tuple(groups),
        )

    def no_step_taken(self) -> Iterator[BrokenLaw]:
        steps, measure = self.steps, self.measure
        still = measure.watched and not measure.moved and measure.compared >= FEWEST_PASSES
        if steps.steps or steps.skipped or not still or steps.process.rank is not None:
            return
        if steps.roots and not any(root.training for root in steps.roots):
            return
        yield NoStepTaken(
            use=self.expression(steps.loss_at),
            said=f"`backward` ran {steps.backwards:,} times and no step was taken: no optimizer"
            " stepped, and no parameter changed.",
            steps=PROOF_STEPS,
            fault="no step is taken",
            certain=measure.optimizers > 0,
            measured=measure,
        )

    def idle_optimizers(self) -> Iterator[IdleOptimizer]:
        for measure in self.case.recording.all(IdleOptimizers):
            if measure.process.pid == self.steps.process.pid:
                for idle in measure.optimizers:
                    lasted = idle.until - idle.since >= FEWEST_IDLE
                    if lasted and idle.watched and not idle.moved and idle.fresh:
                        yield idle

    def never_steps(self, idle: IdleOptimizer) -> OptimizerNeverSteps:
        source = self.case.recording.source(idle.made_at)
        name = name_at(source, idle.made_at) or idle.kind
        return OptimizerNeverSteps(
            use=self.expression(idle.made_at),
            said=f"`{name}` never steps: its {counted(idle.tensors, 'tensor')} get gradients and"
            f" stay as they were, over {idle.until:,} steps of other optimizers.",
            facts=(
                Fact(f"`{name}`", f"{idle.kind}, created at {idle.made_at}, 0 steps"),
                Fact(
                    "its parameters",
                    f"gradients at every look, {counted(idle.watched, 'tensor')} compared over"
                    f" {idle.until - idle.since:,} steps: the same to the bit",
                ),
            ),
            steps=min(idle.until, 64),
            fault=f"optimizer {idle.serial} never steps",
            idle=idle,
            name=name,
        )

    def layers_held_in_part(self) -> Iterator[BrokenLaw]:
        held = {(known.root, known.name): known for known in self.steps.parameters}
        outside = [
            known
            for known in self.steps.outside
            if known.name.endswith("bias")
            and stands_still(known)
            and known.registered
            and (known.root, known.name.removesuffix("bias") + "weight") in held
        ]
        if len(outside) < 2:
            return
        weight = held[outside[0].root, outside[0].name.removesuffix("bias") + "weight"]
        optimizer = next(
            (known for known in self.steps.optimizers if known.serial == weight.held_by), None
        )
        if optimizer is None:
            return
        yield LayerHeldInPart(
            use=self.expression(optimizer.made_at),
            said=f"{self.name_of(optimizer)} holds the weights of {counted(len(outside), 'layer')}"
            f" and not their biases ({some(known.name for known in outside)}), which get gradients"
            " and never move.",
            steps=PROOF_STEPS,
            fault="biases outside the optimizer",
            outside=tuple(outside),
            held_by=optimizer,
        )

    # words

    def of(
        self,
        kind: type[OfOptimizer],
        optimizer: OptimizerSeen,
        held: HeldWeights,
        said: str,
        place: Place | None,
        **more: object,
    ) -> OfOptimizer:
        steps = held.first_step + min(optimizer.steps, PROOF_STEPS)
        about: dict[str, object] = {
            "steps": steps,
            "fault": f"nothing that optimizer {optimizer.serial} holds learns",
            "facts": (Fact(self.name_of(optimizer), f"{optimizer.kind}, {made(optimizer)}"),),
        }
        return kind(
            use=self.expression(place or held.stepped_at),
            said=said,
            optimizer=optimizer,
            held=held,
            name=self.name_of(optimizer),
            **(about | more),  # type: ignore[arg-type]
        )

    def name_of(self, optimizer: OptimizerSeen) -> str:
        source = self.case.recording.source(optimizer.made_at)
        return f"`{name_at(source, optimizer.made_at) or optimizer.kind}`"

    def expression(self, place: Place | None) -> Expression:
        return Expression(place or self.steps.loss_at or self.case.recording.main_script())


def made(optimizer: OptimizerSeen) -> str:
    at = f"created at {optimizer.made_at}, " if optimizer.made_at else ""
    return f"{at}{counted(optimizer.steps, 'step')}"


def watched(recording: Recording) -> MeasuredOn:
    trained = final_steps(recording)
    measures = list(recording.all(WeightsLearn))
    tensors = sum(len(steps.parameters) for steps in trained)
    taken = sum(steps.steps for steps in trained)
    if not measures or not any(measure.passes for measure in measures):
        return MeasuredOn(why_not="no backward pass was seen")
    if not tensors and not any(measure.watched for measure in measures):
        return MeasuredOn(why_not="no parameter of a step was looked at")
    if not tensors:
        compared = max(measure.compared for measure in measures)
        watched = sum(measure.watched for measure in measures)
        return MeasuredOn(on=f"{counted(watched, 'parameter')}, {compared:,} backward passes")
    return MeasuredOn(on=f"{counted(tensors, 'parameter')} at {counted(taken, 'step')}")
