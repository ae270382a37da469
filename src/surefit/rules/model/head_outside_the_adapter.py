"""A new classification head is left out of a LoRA adapter: it stays random, or is not saved.

## What happens
A model with a new head (`classifier`, `score`) gets adapters. PEFT freezes all that is no adapter.
Without `modules_to_save=["classifier"]`, or a `task_type` that implies it, the head stays frozen at
its random initial values. Where it is set free by hand it learns, and `save_pretrained` writes the
adapter without it.

## Why it matters
With a random head only the adapters learn, which is slow and ends far below what is possible. A
head that is not saved is new and random in every model that loads the adapter.

## What to do
`LoraConfig(..., modules_to_save=["classifier"])`, or `task_type="SEQ_CLS"`: the head is trained and
is saved with the adapter.

## How it is recognised
When an optimizer first stepped, a part of the model outside its base had weights that were read
from no file, no adapter and no `modules_to_save` wrapped it, and nothing of it required a gradient;
or it did, and the adapter was saved while nothing else was.
"""

import ast
from collections.abc import Iterator

from surefit.doctor.findings import Finding, Fix, Severity
from surefit.doctor.rule import Rule
from surefit.doctor.violations import Expression, fact_at
from surefit.doctor.words import code
from surefit.laws.case import Case, Remedy
from surefit.laws.invariants.new_heads import HeadNotSaved, HeadStaysFrozen, OfHead
from surefit.laws.runs import law_holds
from surefit.remedies.arguments import SetArgument
from surefit.source.reading import called

RULE = Rule("SF358", "head-outside-the-adapter", Severity.ERROR, __doc__)


@RULE.on(HeadStaysFrozen)
def head_stays_random(broken: HeadStaysFrozen, case: Case) -> Finding:
    name = code(broken.head.name)
    return finding(
        broken,
        case,
        f"The new head {name} of {code(broken.adapter.model)} is frozen at random values:"
        " `modules_to_save` does not name it.",
        "PEFT freezes every weight that is no adapter, unless `modules_to_save` or the `task_type`"
        " asks for it. The head was newly initialised and is never trained.",
    )


@RULE.on(HeadNotSaved)
def head_is_not_saved(broken: HeadNotSaved, case: Case) -> Finding:
    name = code(broken.head.name)
    return finding(
        broken,
        case,
        f"The new head {name} of {code(broken.adapter.model)} is trained, and is not saved with the"
        " adapter: it is not in `modules_to_save`.",
        "`save_pretrained` of a PEFT model writes adapters and `modules_to_save` alone. A model"
        " that loads this adapter gets a newly initialised head.",
    )


def finding(broken: OfHead, case: Case, headline: str, why: str) -> Finding:
    configured = configurations(case)
    at = configured[0] if len(configured) == 1 else broken.use
    saved = fact_at("saved at", broken.use) if isinstance(broken, HeadNotSaved) else ()
    return case.finding(
        at.place,
        headline,
        facts=(*broken.facts, *saved),
        why=why,
        remedies=list(ways(broken, configured)),
    )


def ways(broken: OfHead, configured: list[Expression]) -> Iterator[Remedy | Fix]:
    value = f'["{broken.head.name}"]'
    words = f"Train the head and save it with the adapter: `modules_to_save={value}`."
    for call in configured:
        yield SetArgument(
            at=call, name="modules_to_save", value=value, words=words, must=law_holds(broken)
        )
    if not configured:
        yield Fix(words)


def configurations(case: Case) -> list[Expression]:
    """Calls of PEFT's that say what is adapted, and not what is saved besides."""
    return [
        case.expression(source, call)
        for source, call in case.recording.every(ast.Call)
        if called(call).endswith("Config")
        and source.imported(call.func).startswith("peft")
        and source.argument(call, "modules_to_save") is None
    ]
