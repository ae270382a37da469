"""Tied weights are saved with `save_file`, which takes no two tensors that share memory.

## What happens
A model whose head is tied to its embedding has one tensor under two names. `model.state_dict()`
lists both, and `safetensors.torch.save_file` refuses the mapping: a file would hold the numbers
twice, and a model that is loaded from it could end up with two tensors instead of one.

## Why it matters
It shows at the end of a training run, when the weights are to be written.

## What to do
`safetensors.torch.save_model(model, path)` and `load_model` know tied weights. Or leave one of the
names out of the mapping, and load with `strict=False` and tie again. A copy (`.clone()`) of each
tensor is written, too, and takes more room.

## How it is recognised
The crash is in `save_file`, and tensors of the mapping that it was given lie at the same address.
"""

import ast

from surefit.doctor.findings import Fact, Finding, Severity
from surefit.doctor.rule import Rule
from surefit.doctor.symptoms import Symptom
from surefit.doctor.violations import fact_at
from surefit.doctor.words import code, spoken
from surefit.laws.case import Case, Remedy
from surefit.laws.contracts.shared_memory import MemoryShared
from surefit.remedies.replace import ReplaceWith

RULE = Rule(
    "SF911",
    "tensors-share-memory",
    Severity.ERROR,
    __doc__,
    symptoms=(Symptom(r"[Ss]ome tensors share memory", "which weights are tied"),),
)


@RULE.on(MemoryShared)
def tied_weights_are_saved_as_two(broken: MemoryShared, case: Case) -> Finding:
    names = spoken(map(code, broken.groups[0]))
    return case.finding(
        broken.use.place,
        f"{names} share one tensor (tied weights), and `save_file` takes no two tensors that share"
        " memory.",
        facts=(
            *(Fact("same memory", spoken(map(code, group))) for group in broken.groups),
            *fact_at("saved at", broken.use),
        ),
        why="`state_dict()` lists a tied weight under each of its names. `save_model` and"
        " `load_model` of safetensors write it once and tie it again.",
        remedies=(copied(broken, case),),
    )


def copied(broken: MemoryShared, case: Case) -> Remedy:
    """Each tensor of the mapping, cloned where the mapping is made or where it is passed."""
    node = case.node(broken.tensors)
    source = case.source(broken.tensors)
    value = source.value_of(node) if source is not None and node is not None else node
    words = "Save a copy of each tensor; or use `save_model` and `load_model`, which keep the tie."
    if source is not None and isinstance(value, ast.DictComp):
        part = case.expression(source, value.value)
        return ReplaceWith(at=part, text=f"{part.text}.clone()", words=words)
    text = f"{{name: tensor.clone() for name, tensor in {broken.tensors.text}.items()}}"
    return ReplaceWith(at=broken.tensors, text=text, words=words)
