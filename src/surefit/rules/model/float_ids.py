"""Ids are floats where only integers can be looked up.

## What happens
An embedding, `gather`, `one_hot` and an index in brackets take integers. Ids become floats far
away: `torch.Tensor(ids)` makes float32 of everything, `torch.zeros` to fill up a batch is float32,
a pandas column with a blank cell is float64, and `.float()` for the features changes ids, too.

## Why it matters
`.long()` at the embedding hides it: float32 cannot represent every integer above 16,777,216, and
ids that were scaled all become 0.

## What to do
Make them integers where they are created: `torch.tensor(ids, dtype=torch.long)`,
`torch.LongTensor(ids)`, `.astype("int64")`. Scale features, never ids.

## How it is recognised
What was looked up has a dtype that no lookup takes. A second run shows where it became floating
point. A cast is tried only if every number is an integer; ids that are columns of a table of floats
are cast where they are cut from it.
"""

import ast
from collections.abc import Iterator

from surefit.doctor.conditions.tables import IdsFit
from surefit.doctor.findings import Fact, Finding, Fix, Severity
from surefit.doctor.rule import Rule
from surefit.doctor.symptoms import Symptom
from surefit.doctor.violations import fact_at
from surefit.doctor.words import code
from surefit.laws.case import Case, Remedy
from surefit.laws.contracts.indices import IndexDtype
from surefit.lineage.producers import Producer
from surefit.lineage.properties import dtype, floating
from surefit.remedies.cast import Cast
from surefit.remedies.replace import ReplaceWith
from surefit.source.reading import called

SYMPTOM = Symptom(
    r"Expected tensor for argument #1 'indices' to have one of the following scalar types"
    r"|tensors used as indices must be long|Expected dtype int(32/int)?64 for index"
    r"|one_hot is only applicable to index tensor"
    r"|arrays used as indices must be of integer",
    "where the ids became floats, and whether all of them are integers",
)
RULE = Rule("SF346", "float-ids", Severity.ERROR, __doc__, symptoms=(SYMPTOM,))


@RULE.on(IndexDtype)
def ids_are_floats(broken: IndexDtype, case: Case) -> Finding:
    ids, numbers = broken.ids, broken.numbers
    lineage = case.lineage(ids)
    is_float = ids.dtype.startswith(("float", "bfloat"))
    birth = lineage.birth(of=floating if is_float else dtype(ids.dtype))
    cut = column(broken, case) if numbers.whole else None
    place = (cut or birth or broken.use).place
    what = f"{ids.name} is {ids.dtype}"
    if not numbers.whole:
        fraction = next((value for value in numbers.values if value != round(value)), 0.5)
        what = f"{ids.name} has fractions ({fraction:g})"
    return case.finding(
        place,
        f"{what}, and {broken.taker} takes integers only.",
        facts=(
            ids.fact(numbers.words),
            Fact("all integers", "yes" if numbers.whole else "no"),
            *fact_at(f"{ids.dtype} since", birth),
            *fact_at("looked up at", broken.use if broken.use.place != place else None),
        ),
        why=why(broken, birth, case),
        remedies=remedies(broken, case, birth, cut),
    )


def why(broken: IndexDtype, birth: Producer | None, case: Case) -> str:
    if not broken.numbers.whole:
        return "An id is the number of a row; between two rows there is none."
    node = case.node(birth)
    if isinstance(node, ast.Call) and called(node) == "Tensor":
        return "`torch.Tensor` makes floats of every number; `torch.tensor` keeps integers."
    return "An id is the number of a row, and is looked up as int32 or int64 only."


def column(broken: IndexDtype, case: Case) -> Producer | None:
    """`x[:, 0]`, `row["user"]` of a table of floats, whose other columns are features."""
    lineage = case.lineage(broken.ids)
    for producer in lineage.all:
        node = case.node(producer) if producer.own else None
        if not isinstance(node, ast.Subscript) or not floating.holds(producer.value):
            continue
        parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        constant = any(isinstance(part, ast.Constant) for part in parts)
        tables = [before.value for _, before in lineage.inputs(producer)]
        if constant and any(floating.holds(table) for table in tables):
            return producer
    return None


def remedies(
    broken: IndexDtype, case: Case, birth: Producer | None, cut: Producer | None
) -> Iterator[Remedy | Fix]:
    if not broken.numbers.whole:
        if not broken.rows and birth is not None:
            yield whole_division(birth, case)
        yield Fix(
            "Leave ids as they are and scale features only; for numbers that are no ids use a layer"
            " such as `nn.Linear`.",
            choice=True,
        )
        return
    must = IdsFit(width=0, rows=broken.rows, becomes=broken.rows) if broken.rows else None
    site = cut or birth
    at = site or broken.ids.use or case.lineage(broken.ids).handed_over()
    yield Cast(at=at, to="int64", value=site.value if site else None, must=must)


def whole_division(birth: Producer, case: Case) -> Remedy:
    """`//` for `/`."""
    node, source, text = case.node(birth), case.source(birth.place), ""
    if source is not None and isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
        text = ast.unparse(ast.BinOp(node.left, ast.FloorDiv(), node.right))
    words = f"Divide without a fraction, which rounds down: {code(text)}."
    return ReplaceWith(at=birth if text else None, text=text, words=words)
