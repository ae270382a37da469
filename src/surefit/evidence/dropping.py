"""A loader's default collator, made to drop rows that cannot be used."""

import ast

from surefit.doctor.observations import Crash
from surefit.doctor.recording import Recording
from surefit.evidence.arrivals import loader_call
from surefit.source.edits import argument_added, both, inserted_before, with_import
from surefit.source.patches import Edit
from surefit.source.reading import Source

DROPS = "without_missing"


def dropping_collator(crash: Crash, seen: Recording, test: str) -> Edit | None:
    """A function of the module that keeps each `row` which passes a test; None where the loader
    has a collator already, or was not found."""
    found = loader_call(crash, seen)
    if found is None:
        return None
    source, call = found
    if source.argument(call, "collate_fn", 6) is not None or DROPS in source.definitions:
        return None
    body = f"return default_collate([row for row in rows if {test}])"
    edit = with_function(source, call, f"def {DROPS}(rows):\n    {body}")
    if edit is None:
        return None
    edit = both(edit, argument_added(source, call, "collate_fn", DROPS))
    return with_import(edit, source, "torch.utils.data", "default_collate")


def with_function(source: Source, call: ast.Call, text: str) -> Edit | None:
    """A function of the module, before the statement of the module that a call is in."""
    chain = [one for one in source.up(call) if isinstance(one, ast.stmt)]
    try:
        return inserted_before(source, chain[-1], f"{text}\n\n")
    except (ValueError, IndexError):
        return None
