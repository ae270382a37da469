"""The user's expressions that values came through, as a second run tells them.

Only the standard library is imported here: this module is loaded inside the user's program.
"""

from dataclasses import dataclass
from enum import StrEnum

from surefit.doctor.findings import Place
from surefit.doctor.observations import Value
from surefit.source.spans import Span

LINEAGE = "lineage"
"""The kind of the question that a second run answers with producers."""
ROWS = "rows of the batch"
DATASET = "dataset of the rows"
"""In place of the function of a root: a column that a collator was given, and what it is from."""
TARGET_OF = "target_of"
"""In a question: the loss function whose target is asked about, at a line of the user's."""


ARGUMENT_OF = "argument_of"
"""In a question: the class of the model, one argument of which is asked about."""


class Way(StrEnum):
    """How an input of an expression was recognised."""

    OPERAND = "operand"
    """A sub-expression."""
    ARGUMENT = "argument"
    """An argument of a call, or what a parameter was called with."""
    ITEM = "item"
    """An element or a key of a list, a tuple, a dict; what was put into one."""
    ATTRIBUTE = "attribute"
    """Assigned to the attribute, or given to the constructor of the object."""
    BINDING = "binding"
    """Assigned to the name."""
    RETURNED = "returned"
    """What the user's own function returned or yielded."""
    CALLBACK = "callback"
    """What a function of the user's returned to the library that was called: `data.map(encode)`."""
    SAME_OBJECT = "same object"
    MUTATED = "mutated"
    """The same object before this expression changed it in place."""
    CONTENT = "content"
    """Another object with equal content, on the other side of a library."""
    ROW = "row"
    """One row of it has this content."""
    SIBLING = "sibling"
    """It stands beside what was recognised by its content, under the same key."""
    OPERATION = "operation"
    """An operation on tensors inside a library took it."""
    DEFAULT = "default"
    """The default of a parameter that a call left out."""
    EARLIER = "earlier"
    """What the name or the attribute was bound to when that was last noted; turns of a loop between
    were not."""
    CONTROL = "control"
    """It decides how many or which, not what: a condition, an index, arguments of a function whose
    returned expression is known. A lineage does not go that way."""


class ProducerKind(StrEnum):
    """What sort of expression it is."""

    CALL = "call"
    OPERATOR = "operator"
    DISPLAY = "display"
    COMPREHENSION = "comprehension"
    LITERAL = "literal"
    PARAMETER = "parameter"
    NAME = "name"
    ATTRIBUTE = "attribute"
    SUBSCRIPT = "subscript"
    MUTATION = "mutation"
    """A statement or a call that changes its value in place."""
    OPERATION = "operation"
    """An operation on tensors inside a library."""
    SETTING = "setting"
    """A flag of the command line, a key of a configuration, a variable of the environment."""
    FILE = "file"
    """A call that reads a file."""


PASSING = frozenset(
    {
        ProducerKind.NAME,
        ProducerKind.ATTRIBUTE,
        ProducerKind.SUBSCRIPT,
        ProducerKind.PARAMETER,
    }
)
"""Expressions that only pass a value on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Input:
    """Another producer that an expression got a value from."""

    serial: int
    way: Way
    name: str = ""
    """Of an argument, a key, an index, an attribute."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Producer:
    """One evaluation of an expression."""

    serial: int
    """Producers are numbered in the order in which they were evaluated."""
    place: Place
    span: Span | None
    text: str
    """On one line, cut where it is long."""
    kind: ProducerKind
    value: Value
    inputs: tuple[Input, ...] = ()
    function: str = ""
    times: int = 1
    """How often the expression was evaluated in all."""
    step: int = 0
    """Optimizer steps before it."""
    own: bool = True
    name: str = ""
    """Of a setting: its flag, key or variable. Of a name or a parameter: itself. Of a mutation: the
    attribute or key that was written. Of a call: the function, as written."""
    ended: str = ""
    """Why nothing is known of where it came from, if something should be."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ValueRoot:
    """A value that a frame of a crash holds, and the expression that produced it."""

    function: str
    file: str
    """Last part of its path: a second run stands in another folder."""
    line: int
    text: str
    inputs: tuple[Input, ...]
    """Usually one; several where rows of a batch were recognised one by one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProducerGraph:
    """What a second run tells: every producer that the roots lead back to."""

    producers: tuple[Producer, ...] = ()
    roots: tuple[ValueRoot, ...] = ()
    records: int = 0
    """Expressions that were noted in all."""
    ended: str = ""
    """Why producers are missing, where the budget did not suffice."""
