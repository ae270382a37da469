"""Tuples of outputs, as the source of a script shows them, and where one is used as a tensor."""

import ast

from surefit.evidence.read_models import own_module
from surefit.source.outcomes import Outcomes, function_run, outcomes
from surefit.source.reading import Source


def of_own_model(source: Source, call: ast.Call) -> Outcomes:
    """What the `forward` of a model of the file gives back at a call."""
    owner = own_module(source, call.func)
    if owner is None or function_run(source, call) is None:
        return ()
    return outcomes(source, call)
