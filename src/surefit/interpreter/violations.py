"""What certainly goes wrong when a script is run, and the contract that it violates.

`node` is the expression at which it happens. `birth` is the expression at which the wrong property
came into being: the number that is written, the constructor, the cast, the call that cut a graph;
`node` itself where that is not known.
"""

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from surefit.doctor.violations import Expression, Violation
from surefit.interpreter.wording import expression_of
from surefit.laws.case import Case
from surefit.source.reading import Source


@dataclass(frozen=True, slots=True)
class Site:
    """Where a contract is violated."""

    case: Case
    source: Source
    node: ast.AST
    birth: ast.AST

    @property
    def use(self) -> Expression:
        return expression_of(self.source, self.node)


@dataclass(frozen=True, slots=True)
class SourceViolation:
    """What the source says for certain; `contract` puts it as a crash would have."""

    contract: Callable[..., Iterator[Violation]]
    node: ast.AST
    birth: ast.AST
    facts: tuple[object, ...]

    @property
    def name(self) -> str:
        return self.contract.__name__

    def violations(self, case: Case, source: Source) -> Iterator[Violation]:
        return self.contract(Site(case, source, self.node, self.birth), *self.facts)
