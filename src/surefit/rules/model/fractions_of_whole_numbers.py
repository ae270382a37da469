"""A mean or a gradient is asked of integers, which have neither.

## What happens
`(predicted == labels).mean()`, `lengths.std()`, `counts.softmax(-1)`: of integers and of True and
False torch gives no mean, because it would be no integer. And only floating point numbers can have
a gradient: `nn.Parameter` of integers is refused.

## Why it matters
NumPy does it, so that the same line works on arrays and fails on tensors.

## What to do
`.float()` before it: `(predicted == labels).float().mean()`. For what is to be learned, floats from
the start: `torch.tensor([1.0, 2.0, 3.0], requires_grad=True)`.

## How it is recognised
The failing expression in your own code is such a call, and what it is called on holds integers or
True and False; or a parameter was created from them.
"""

import ast
from collections.abc import Iterator

from surefit.doctor.findings import Finding, Severity
from surefit.doctor.rule import Rule
from surefit.doctor.symptoms import Symptom
from surefit.doctor.words import code
from surefit.laws.case import Case, Remedy
from surefit.laws.contracts.integers import CREATE, IntegerOperand
from surefit.remedies.append import Append
from surefit.remedies.arguments import SetArgument
from surefit.source.edits import BINDS_TIGHTLY
from surefit.source.reading import called

SYMPTOM = Symptom(
    r"could not infer output dtype|Input dtype must be either a floating point"
    r"|std and var only support floating point|not implemented for '(Long|Int|Bool)'"
    r"|[Oo]nly Tensors of floating point( and complex)? dtype can require gradients",
    "the dtype of what the mean, or the gradient, is asked of",
)
RULE = Rule("SF349", "fractions-of-whole-numbers", Severity.ERROR, __doc__, symptoms=(SYMPTOM,))


@RULE.on(IntegerOperand)
def integers_have_no_fractions(broken: IntegerOperand, case: Case) -> Finding:
    tensor = broken.tensor
    asks = "is to have a gradient" if broken.of_gradient else f"`{broken.operation}` is asked of it"
    return case.finding(
        (tensor.use or broken.use).place,
        f"{tensor.name} is {tensor.dtype}, and {asks}, which needs floating point.",
        facts=(tensor.fact(),),
        why="A gradient says by how much to change a number, and an integer cannot change a little."
        if broken.of_gradient
        else "A mean of integers is no integer, and torch does not choose another dtype by itself.",
        remedies=remedies(broken, case),
    )


def remedies(broken: IntegerOperand, case: Case) -> Iterator[Remedy]:
    at = broken.tensor.use
    node, source = case.node(at), case.source(at)
    if (
        source is not None
        and isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and called(node) in CREATE
        and source.imported(node.func).startswith("torch.")
    ):
        dtype = f"{source.segment(node.func.value)}.float32"
        words = "Create floats: `dtype=torch.float32`."
        yield SetArgument(at=at, name="dtype", value=dtype, words=words, must=broken.holds)
        return
    text = broken.tensor.name.strip("`")
    inner = text if isinstance(node, BINDS_TIGHTLY) else f"({text})"
    words = f"Convert it before: {code(f'{inner}.float()')}."
    yield Append(at=at, suffix=".float()", words=words, must=broken.holds, alike=False)
