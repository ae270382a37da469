"""The call of a loss in the user's source, and what its arguments are made of."""

import ast
from dataclasses import dataclass

from surefit.doctor.findings import Place
from surefit.laws.case import Case
from surefit.source.definitions import definition
from surefit.source.edits import replaced
from surefit.source.origins import origin
from surefit.source.patches import Edit
from surefit.source.reading import Source, called

CLASSES = {
    "cross_entropy": "CrossEntropyLoss",
    "nll_loss": "NLLLoss",
    "binary_cross_entropy": "BCELoss",
    "binary_cross_entropy_with_logits": "BCEWithLogitsLoss",
    "mse_loss": "MSELoss",
    "l1_loss": "L1Loss",
    "smooth_l1_loss": "SmoothL1Loss",
    "huber_loss": "HuberLoss",
    "kl_div": "KLDivLoss",
    "poisson_nll_loss": "PoissonNLLLoss",
    "ctc_loss": "CTCLoss",
    "triplet_margin_loss": "TripletMarginLoss",
    "triplet_margin_with_distance_loss": "TripletMarginWithDistanceLoss",
    "cosine_embedding_loss": "CosineEmbeddingLoss",
    "margin_ranking_loss": "MarginRankingLoss",
    "hinge_embedding_loss": "HingeEmbeddingLoss",
    "soft_margin_loss": "SoftMarginLoss",
}
MOVED = ("flatten", "view", "reshape", "contiguous", "transpose", "permute", "long", "float", "to")
"""Methods that change the shape or the dtype of a tensor, not its values."""


@dataclass(frozen=True, slots=True)
class WrittenLoss:
    """`F.cross_entropy(logits, target)`, or `criterion(logits, target)`."""

    source: Source
    call: ast.Call
    made: ast.Call
    """Where the loss is named: the call itself, or `nn.CrossEntropyLoss()`."""

    @property
    def place(self) -> Place:
        """Of where it is named."""
        return Place(self.source.file, self.made.lineno, self.made.end_lineno)

    @property
    def predictions(self) -> ast.expr | None:
        return self.source.argument(self.call, "input", 0)

    @property
    def target(self) -> ast.expr | None:
        return self.source.argument(self.call, "target", 1)


def loss_call_at(case: Case, place: Place | None, name: str) -> WrittenLoss | None:
    """The only call of this loss function at a line, by its own name or as a module."""
    source = case.source(place)
    if source is None or place is None or place.line is None:
        return None
    statement = source.statement_at(place.line)
    last = statement.end_lineno if statement is not None else place.line
    found = [
        WrittenLoss(source, call, made)
        for call in source.calls_in(place.line, last)
        if (made := named(source, call, name)) is not None
    ]
    return found[0] if len(found) == 1 else None


def named(source: Source, call: ast.Call, name: str) -> ast.Call | None:
    """Where a call says which loss it is; None where it is another one."""
    if called(call) == name:
        return call
    made = call.func if isinstance(call.func, ast.Call) else origin(source, call.func)
    fits = isinstance(made, ast.Call) and called(made) == CLASSES.get(name)
    return made if fits and isinstance(made, ast.Call) else None


@dataclass(frozen=True, slots=True)
class MethodChain:
    """`logits` and the methods that follow it: `logits.transpose(1, 2).flatten()`."""

    base: ast.expr
    methods: tuple[ast.Call, ...]


def chain_of(source: Source, node: ast.expr) -> tuple[ast.expr, MethodChain]:
    """The expression to change, the argument itself or the assignment that it is from, and what it
    consists of."""
    if isinstance(node, ast.Name):
        before = definition(source, node)
        if isinstance(before, ast.Call) and is_moved(before):
            node = before
    methods: list[ast.Call] = []
    base = node
    while isinstance(base, ast.Call) and is_moved(base):
        assert isinstance(base.func, ast.Attribute)
        methods.append(base)
        base = base.func.value
    return node, MethodChain(base, tuple(reversed(methods)))


def is_moved(call: ast.Call) -> bool:
    return isinstance(call.func, ast.Attribute) and call.func.attr in MOVED


def with_part(source: Source, chain: MethodChain, part: str) -> str:
    """The same of a part of the tensor; a `view` cannot follow that, and sizes are left open."""
    text = f"{source.segment(chain.base)}{part}"
    for method in chain.methods:
        assert isinstance(method.func, ast.Attribute)
        name = method.func.attr
        if name in ("view", "reshape"):
            last = source.segment(method.args[-1]) if len(method.args) > 1 else ""
            text += f".reshape(-1, {last})" if last else ".reshape(-1)"
        elif name != "contiguous":
            given = [*method.args, *(keyword.value for keyword in method.keywords)]
            inside = source.segment(method)[len(source.segment(method.func)) :] if given else "()"
            text += f".{name}{inside}"
    return text


def slice_of(node: ast.expr) -> tuple[ast.expr, ast.Slice] | None:
    """`ids` and the last slice of `ids[:, 1:]` or `ids[1:]`; of logits, that of the positions:
    `logits[:, :-1]`, `logits[..., :-1, :]`."""
    match node:
        case ast.Subscript(value=value, slice=ast.Slice() as part):
            return value, part
        case ast.Subscript(value=value, slice=ast.Tuple(elts=parts)):
            bounded = [part for part in parts if isinstance(part, ast.Slice) and is_bounded(part)]
            return (value, bounded[0]) if len(bounded) == 1 else None
    return None


def is_bounded(part: ast.Slice) -> bool:
    return part.lower is not None or part.upper is not None


def starts_at_one(part: ast.Slice) -> bool:
    return isinstance(part.lower, ast.Constant) and part.lower.value == 1 and part.upper is None


def ends_before_last(part: ast.Slice) -> bool:
    match part:
        case ast.Slice(lower=None, upper=ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=1))):
            return True
    return False


def sibling(loss: WrittenLoss, name: str) -> Edit | None:
    """Another loss of the same module; None where its name was imported alone."""
    function = loss.made.func
    last = called(loss.made)
    text = loss.source.segment(function)
    if text == last:
        return None
    new = CLASSES[name] if last in CLASSES.values() else name
    return replaced(loss.source, function, f"{text.removesuffix(last)}{new}")
