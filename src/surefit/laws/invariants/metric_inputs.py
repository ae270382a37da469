"""Metrics of libraries are given what they are defined on."""

from collections.abc import Iterator
from dataclasses import dataclass

from surefit.doctor.findings import Fact
from surefit.doctor.measures.metric_calls import MetricCall, MetricCalls
from surefit.doctor.recording import Recording
from surefit.doctor.violations import Expression
from surefit.doctor.words import counted
from surefit.laws.case import Case
from surefit.laws.law import BrokenLaw, Law, MeasuredOn
from surefit.source.reading import called

LAW = Law("metric_inputs", "metrics of libraries are given what they are defined on")


@dataclass(frozen=True, slots=True, kw_only=True)
class RankedDecisions(BrokenLaw):
    """A metric that ranks scores was given zeros and ones each time. A baseline can be meant so:
    the source must show that scores were compared with a threshold."""

    call: MetricCall


def watched(recording: Recording) -> MeasuredOn:
    times = sum(call.times for measure in recording.all(MetricCalls) for call in measure.calls)
    if not times:
        return MeasuredOn(why_not="no metric of a library that ranks scores was called")
    return MeasuredOn(on=counted(times, "call"))


def violations_of(case: Case) -> Iterator[RankedDecisions]:
    for measure in case.recording.all(MetricCalls):
        for call in measure.calls:
            if call.decided == call.times:
                yield RankedDecisions(
                    use=expression_of(case, call),
                    said=f"`{call.function}` ranks rows by their scores, and was given 0 or 1 for"
                    f" each of {counted(call.rows, 'row')}.",
                    facts=(Fact("given", f"0 and 1 alone, {counted(call.times, 'time')}"),),
                    steps=call.step + 1,
                    fault=f"{LAW.name}: {call.place}",
                    certain=False,
                    call=call,
                )


def expression_of(case: Case, call: MetricCall) -> Expression:
    """The call at the line, where it is the only one of the function."""
    source = case.source(call.place)
    calls = list(source.calls_in(call.place.line or 0)) if source is not None else []
    own = [node for node in calls if called(node) == call.function]
    if source is None or len(own) != 1:
        return Expression(call.place)
    return case.expression(source, own[0])
