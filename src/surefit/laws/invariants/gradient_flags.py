"""What is set on a module reaches its parameters."""

from collections.abc import Iterator
from dataclasses import dataclass

from surefit.doctor.measures.gradient_flags import FlaggedModule, GradientFlags
from surefit.doctor.recording import Recording
from surefit.doctor.violations import Expression
from surefit.doctor.words import counted
from surefit.laws.case import Case
from surefit.laws.law import BrokenLaw, Law, MeasuredOn

LAW = Law("gradient_flags", "what is frozen or set free by the script is so in its parameters")
PROOF_STEPS = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class FlagOnModule(BrokenLaw):
    """`module.requires_grad = True`, which only adds an attribute to the module."""

    module: FlaggedModule
    modules: int
    """How many modules were treated so."""


def violations_of(case: Case) -> Iterator[FlagOnModule]:
    for measure in case.recording.all(GradientFlags):
        wrong = [module for module in measure.flagged if module.otherwise]
        if wrong and measure.process.rank in (None, 0):
            module = max(wrong, key=lambda flagged: flagged.otherwise)
            yield FlagOnModule(
                use=Expression(case.recording.main_script()),
                said=f"`requires_grad = {module.flag}` was set on a `{module.kind}`, and"
                f" {module.otherwise:,} of its {counted(module.parameters, 'parameter')} have"
                f" `requires_grad={not module.flag}`.",
                steps=PROOF_STEPS,
                fault="requires_grad on a module",
                module=module,
                modules=len(wrong),
                lasting=False,
            )


def watched(recording: Recording) -> MeasuredOn:
    modules = sum(measure.modules for measure in recording.all(GradientFlags))
    return (
        MeasuredOn(on=counted(modules, "module"))
        if modules
        else MeasuredOn(why_not="no model was seen")
    )
