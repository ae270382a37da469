"""How a script chooses its best state, by its source: `if val_loss < best:` around its save."""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from surefit.laws.evaluation.stand_ins import number_of
from surefit.source.classes import pairs
from surefit.source.patches import Edit, Replace
from surefit.source.reading import Source, called
from surefit.source.spans import Span

KEEPS = frozenset(
    ("state_dict", "save", "save_model", "save_pretrained", "save_checkpoint", "save_file")
)
"""Calls that keep a state; a copy of a module is one, too."""
COPIES = frozenset(("deepcopy",))
LOWER_IS_BETTER = re.compile(
    r"(^|_|\.)(\w*loss(?:es)?|mae|mse|rmse|mape|smape|errors?|err|perplexity|ppl|wer|cer|nll|bpc|bpb|fid"
    r"|distance|brier|ece)\d*($|_|\.)",
    re.IGNORECASE,
)
HIGHER_IS_BETTER = re.compile(
    r"(^|_|\.)(acc|accs|accuracy|f1|auc|auroc|auprc|precision|recall|bleu|rouge\w*|map|r2|iou"
    r"|miou|dice|mrr|ndcg|kappa|mcc)\d*($|_|\.)",
    re.IGNORECASE,
)
NOT_THE_BEST = re.compile(
    r"worst|hardest|hard_|peak|max_loss|largest|outlier|anomal", re.IGNORECASE
)
GREATER, LESS = (ast.Gt, ast.GtE), (ast.Lt, ast.LtE)
FLIPPED = {ast.Gt: "<", ast.GtE: "<=", ast.Lt: ">", ast.LtE: ">="}


@dataclass(frozen=True, slots=True)
class Choice:
    """A comparison that decides whether a state is kept."""

    source: Source
    test: ast.Compare
    body: ast.If
    metric: ast.expr
    best: ast.expr

    @property
    def metric_text(self) -> str:
        return ast.unparse(self.metric)

    @property
    def best_text(self) -> str:
        return ast.unparse(self.best)

    @property
    def keeps_greater(self) -> bool:
        """Where the metric is above what was best so far."""
        operator = self.test.ops[0]
        return isinstance(operator, GREATER) == (self.metric is self.test.left)

    @property
    def lower_is_better(self) -> bool | None:
        """By its name."""
        names = f"{self.metric_text} {self.best_text}".replace(" ", "_")
        lower, higher = LOWER_IS_BETTER.search(names), HIGHER_IS_BETTER.search(names)
        return bool(lower) if bool(lower) != bool(higher) else None

    def flip(self) -> Edit:
        """The comparison turned around."""
        left, right = (
            self.source.span(node) for node in (self.test.left, self.test.comparators[0])
        )
        text = f" {FLIPPED[type(self.test.ops[0])]} "
        between = Span(left.end_line, left.end_column, right.line, right.column)
        return Edit(self.source.file, (Replace(between, text),))

    def start(self) -> tuple[ast.expr, float] | None:
        """What `best` is before the first comparison, where that is one number in the source."""
        values = [
            (value, number)
            for target, value in assigned(self.source)
            if target == self.best_text and not within(self.source, value, self.body)
            for number in [number_of(value)]
        ]
        known = [(value, number) for value, number in values if number is not None]
        return (known[0][0], known[0][1]) if len(values) == len(known) == 1 else None


@cache
def choices(source: Source) -> tuple[Choice, ...]:
    return tuple(_choices(source))


def _choices(source: Source) -> Iterator[Choice]:
    for body in source.every(ast.If):
        test = body.test
        parts = test.values if isinstance(test, ast.BoolOp) else [test]
        for part in parts:
            if isinstance(part, ast.Compare) and len(part.ops) == 1:
                choice = choice_of(source, body, part)
                if choice is not None and not NOT_THE_BEST.search(ast.unparse(test)):
                    yield choice


def choice_of(source: Source, body: ast.If, test: ast.Compare) -> Choice | None:
    """One side is replaced by the other in the body: that is the best so far."""
    if not isinstance(test.ops[0], GREATER + LESS):
        return None
    sides = test.left, test.comparators[0]
    for best, metric in (sides, sides[::-1]):
        text, other = ast.unparse(best), ast.unparse(metric)
        for target, value in assigned(source):
            if target == text and ast.unparse(value) == other and within(source, value, body):
                return Choice(source, test, body, metric, best)
    return None


@cache
def assigned(source: Source) -> tuple[tuple[str, ast.expr], ...]:
    """Targets of assignments as text, and what each is given."""
    values: list[tuple[str, ast.expr]] = []
    for node in source.every(ast.Assign):
        for target in node.targets:
            values += [(ast.unparse(part), value) for part, value in pairs(target, node.value)]
    values += [
        (ast.unparse(node.target), node.value)
        for node in source.every(ast.AnnAssign)
        if node.value is not None
    ]
    return tuple(values)


def within(source: Source, node: ast.AST, body: ast.If) -> bool:
    """In what is done where the test holds, not in its `else`."""
    line = getattr(node, "lineno", 0)
    return body.body[0].lineno <= line <= (body.body[-1].end_lineno or 0) and body in source.up(
        node
    )


def keeping(source: Source, body: ast.If) -> list[ast.Call]:
    """Calls in the body that keep a state."""
    return [
        call
        for call in source.calls_in(body.body[0].lineno, body.body[-1].end_lineno)
        if called(call) in KEEPS | COPIES
    ]


def choice_at(source: Source, line: int) -> Choice | None:
    """The innermost that a line is in the body of."""
    around = [
        choice
        for choice in choices(source)
        if choice.body.body[0].lineno <= line <= (choice.body.body[-1].end_lineno or 0)
    ]
    return max(around, key=lambda choice: choice.body.lineno, default=None)
