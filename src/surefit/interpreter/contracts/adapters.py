"""Adapters for layers that a model does not have, as `surefit.laws.contracts.adapters` has them."""

from collections.abc import Iterator

from surefit.doctor.violations import Violation
from surefit.interpreter.operands import expression_of
from surefit.interpreter.violations import AdapterTargetsMissing, SourceViolation
from surefit.laws.case import Case
from surefit.laws.contracts.adapters import ADAPTED, TARGETS, AskedTargets, TargetsWithoutLayers
from surefit.source.reading import Source


def violations_of(violation: SourceViolation, case: Case, source: Source) -> Iterator[Violation]:
    if isinstance(violation, AdapterTargetsMissing):
        layers = {name.rpartition(".")[2]: {ADAPTED[0]: 0} for name in violation.names}
        config = expression_of(source, violation.config)
        yield TargetsWithoutLayers(
            use=expression_of(source, violation.node),
            targets=AskedTargets(violation.model, targets=violation.targets, layers=layers),
            config=config,
            names=case.argument(config, TARGETS, None),
        )
