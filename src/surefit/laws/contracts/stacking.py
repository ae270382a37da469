"""Rows become one tensor: each column holds numbers, of one shape, and no axis too many."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass, replace

from surefit.doctor.conditions.inputs import RowsReachModel, inputs_of
from surefit.doctor.observations import CollatorSeen, Frame, Value
from surefit.doctor.violations import Expression, Operand, Violation, narrowed
from surefit.laws.case import Case, use_of
from surefit.laws.rows.collators import ONLY_STACK, TOKENIZED
from surefit.laws.rows.stacking_calls import call_at, calls_in_function, is_at
from surefit.source.reading import Source

CHANNELS = (1, 3, 4)
"""Of pictures: grey, colours, colours with transparency."""
PICTURE = 3
"""Axes of a picture: channels, height, width."""
LABELS = ("label", "labels", "label_ids", "target", "targets")
IN_LABELS = ("label", "target", "tag")
PASS_STRINGS = ("default_data_collator", "DefaultDataCollator")
"""Leave strings out, though not lists of strings; `default_collate` leaves both as they are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RowColumn:
    """What the rows of a batch have under one name, or at one position."""

    name: str
    kinds: tuple[str, ...] = ()
    shapes: tuple[tuple[int, ...], ...] = ()
    """Of each row; empty for plain numbers."""
    total: int | None = None
    """Sum of all integers; None where there are others."""
    supervised: int | None = None
    """Of labels: how many are not -100."""
    is_text: bool = False
    labels: bool = False
    """Its numbers are compared with predictions, so that padding must not count."""
    called: str = ""
    """What the user's loop calls it, where it is a position of a tuple."""

    @property
    def words(self) -> str:
        if self.called:
            return f"`{self.called}`"
        if self.name == "row":
            return "the rows"
        return f"item {self.name} of each row" if self.name.isdigit() else f"`{self.name}`"

    @property
    def lengths(self) -> list[int]:
        return [shape[0] for shape in self.shapes if shape]

    @property
    def is_ragged(self) -> bool:
        several = len(set(self.shapes)) > 1 and not self.is_text
        return several and not self.of_other_channels

    @property
    def only_first_axis(self) -> bool:
        """Rows are longer or shorter, and alike in all else."""
        return len({shape[1:] for shape in self.shapes}) == 1

    @property
    def of_other_channels(self) -> bool:
        """Pictures that are alike in all but their channels: grey among colour."""
        shapes = set(self.shapes)
        pictures = all(len(shape) == PICTURE and shape[0] in CHANNELS for shape in shapes)
        return len(shapes) > 1 and pictures and self.only_first_axis

    @property
    def is_picture(self) -> bool:
        return len(self.shapes[0]) >= PICTURE and not self.only_first_axis

    @property
    def is_batch_of_one(self) -> bool:
        return bool(self.shapes) and all(len(shape) > 1 and shape[0] == 1 for shape in self.shapes)

    @property
    def padded(self) -> tuple[int, ...]:
        """The shape of the batch once it is padded to its longest row."""
        return len(self.shapes), max(self.lengths), *self.shapes[0][1:]

    @property
    def elements(self) -> int | None:
        """Numbers in all rows, where a row is a plain sequence of them."""
        return sum(self.lengths) if len(self.shapes[0]) == 1 else None

    @property
    def without_axis(self) -> "RowColumn":
        return replace(self, shapes=tuple(shape[1:] for shape in self.shapes))

    def reaches_model(self) -> RowsReachModel:
        """Every row in full length, and every number."""
        return RowsReachModel(self.padded, self.total, self.elements)


@dataclass(frozen=True, slots=True, kw_only=True)
class Stacked(Violation):
    """Rows that cannot be stacked, and what should have stacked them."""

    by: str
    """A class or function of a library, the user's function, or the user's expression."""
    rows: int
    columns: tuple[RowColumn, ...]
    """All that the rows have."""
    wrong: tuple[RowColumn, ...]
    """Those of them that break the contract."""
    collator: CollatorSeen | None = None
    calls: tuple[tuple[Expression, RowColumn], ...] = ()
    """Where the user's own code stacks: the calls, the failing one first."""
    operand: Operand | None = None
    """A value of a frame that has the wrong rows, where there is no collator."""

    @property
    def own(self) -> bool:
        """The user's own code stacks."""
        return self.collator is None or self.collator.own

    @property
    def pads(self) -> tuple[str, ...]:
        return self.collator.pads if self.collator is not None and not self.collator.own else ()


class UnequalLengths(Stacked):
    """Rows of a column have different shapes, and nothing pads it."""


class ExtraNesting(Stacked):
    """Each row of a column has a first axis of size 1."""


class NotNumbers(Stacked):
    """Rows of a column are text, lists of text or dictionaries."""


def violations_of(case: Case) -> Iterator[Violation]:
    crash, own = case.crash, case.own
    if crash is not None and own is not None and crash.collator is not None:
        found = list(in_rows(case, own, crash.collator))
        yield from found or in_a_list(case, own)
    elif own is not None:
        yield from in_a_list(case, own)
        yield from in_a_batch(case, own)
        yield from in_a_model(case, own)


def in_rows(case: Case, own: Frame, collator: CollatorSeen) -> Iterator[Stacked]:
    """Of the rows that a collator was given."""
    columns = columns_of(case, own, collator)
    plain = Stacked(
        use=use_of(own),
        by=collator.kind,
        rows=collator.rows,
        columns=columns,
        wrong=(),
        collator=collator,
    )
    texts = tuple(column for column in columns if column.is_text and takes(collator, column))
    if texts:
        if is_about_text(case, own, collator, texts):
            yield narrowed(NotNumbers, plain, wrong=texts)
        return
    nested = tuple(column for column in columns if column.is_batch_of_one)
    if nested:
        yield narrowed(ExtraNesting, plain, wrong=nested)
    padded = (*collator.pads, *TOKENIZED) if collator.pads and not collator.own else ()
    ragged = tuple(column for column in columns if column.is_ragged and column.name not in padded)
    if not collator.own and ragged:
        yield narrowed(UnequalLengths, plain, wrong=ragged)
    elif ragged:
        yield from in_own_collator(case, own, plain, ragged)


def in_own_collator(
    case: Case, own: Frame, plain: Stacked, ragged: tuple[RowColumn, ...]
) -> Iterator[Stacked]:
    """The failing expression stacks one of the columns, or hands the rows to `tokenizer.pad`."""
    source = case.source(own)
    if source is None:
        return
    named = {column.name: column for column in ragged}
    stacking = [
        (call, named[name]) for call, name in calls_in_function(source, own) if name in named
    ]
    stacking.sort(key=lambda pair: not is_at(source, pair[0], own))
    if stacking and is_at(source, stacking[0][0], own):
        calls = tuple((case.expression(source, call), column) for call, column in stacking)
        wrong = tuple(column for _, column in stacking)
        yield narrowed(UnequalLengths, plain, wrong=wrong, calls=calls)
    elif any(frame.function.endswith(".pad") for frame in case.frames):
        unpadded = tuple(column for column in ragged if column.name not in TOKENIZED)
        if unpadded:
            yield narrowed(UnequalLengths, plain, wrong=unpadded)


def in_a_list(case: Case, own: Frame) -> Iterator[Stacked]:
    """Outside of any collator: one tensor of a list with rows of many lengths."""
    source = case.source(own)
    call = call_at(source, own) if source else None
    if source is None or call is None or own is not case.frames[-1]:
        return
    value = own.value(ast.unparse(call.args[0]))
    shapes = shapes_in(value) if value is not None else ()
    if value is None or len(set(shapes)) < 2 or len({len(shape) for shape in shapes}) > 1:
        return
    column = RowColumn(name=value.text, shapes=shapes, called=value.text)
    expression = case.expression(source, call)
    yield UnequalLengths(
        use=expression,
        by=expression.text,
        rows=len(shapes),
        columns=(column,),
        wrong=(column,),
        calls=((expression, column),),
        operand=Operand(value=value, name=column.words, frame=case.number),
    )


def in_a_batch(case: Case, own: Frame) -> Iterator[Stacked]:
    """A method of a tensor on a list of strings that a batch holds: `value.to(device)`."""
    receiver, dot, _ = (own.expression or "").partition(".")
    value = own.value(receiver)
    if value is None or not dot or not is_texts(value):
        return
    holders = [
        (holder, name)
        for holder in own.values
        for name, member in holder.members.items()
        if member.identity == value.identity and holder.kind not in ("list", "tuple")
    ]
    for holder, name in holders[:1]:
        columns = tuple(
            RowColumn(
                name=key,
                kinds=(member.kind,),
                shapes=tuple([member.shape[1:]] * member.shape[0]) if member.shape else (),
                is_text=is_texts(member),
            )
            for key, member in holder.members.items()
        )
        yield NotNumbers(
            use=use_of(own),
            by=own.expression or "",
            rows=value.length or 0,
            columns=columns,
            wrong=tuple(column for column in columns if column.name == name),
            operand=beside_in(case, holder, name),
        )


def beside_in(case: Case, holder: Value, name: str) -> Operand | None:
    """A tensor that the batch holds beside a column, in the frame that the batch is a name of."""
    having = [
        (number, value.text)
        for number, frame in enumerate(case.frames)
        for value in frame.values
        if value.identity == holder.identity and not frame.function.endswith("comp>")
    ]
    for key, member in holder.members.items():
        if key != name and member.shape and having:
            value = replace(member, text=f'{having[-1][1]}["{key}"]')
            return Operand(value=value, name=key, frame=having[-1][0])
    return None


def in_a_model(case: Case, own: Frame) -> Iterator[Stacked]:
    """A batch that reached the model with an axis of 1 after that of the rows."""
    crash = case.crash
    if crash is None or not any("torch/nn/" in frame.place.file for frame in crash.frames):
        return
    calls = inputs_of(case.recording, crash.process.rank)
    given = [call for call in calls if call.step == crash.steps]
    columns = tuple(
        RowColumn(
            name=name,
            shapes=tuple([shape[1:]] * shape[0]),
            total=given[-1].totals.get(name),
            labels=any(word in name for word in IN_LABELS),
        )
        for name, shape in (given[-1].shapes if given else {}).items()
        if shape
    )
    nested = tuple(column for column in columns if column.is_batch_of_one)
    if nested:
        yield ExtraNesting(
            use=use_of(own),
            by="the loader",
            rows=len(nested[0].shapes),
            columns=columns,
            wrong=nested,
        )


def batch_in_frames(case: Case, column: RowColumn) -> Iterator[Operand]:
    """The batch as frames have it: under its name, or else by its shape; the user's first."""
    shape = (len(column.shapes), *column.shapes[0])
    for number, frame in sorted(enumerate(case.frames), key=lambda pair: not pair[1].own):
        for value in frame.values:
            if value.shape == shape and (column.name.isdigit() or column.name in value.text):
                yield Operand(value=value, name=column.words, frame=number)
        if not frame.own and frame.function.endswith(".forward"):
            value = Value(column.name, "Tensor", shape=shape)
            yield Operand(value=value, name=column.words, frame=number)


def columns_of(case: Case, own: Frame, collator: CollatorSeen) -> tuple[RowColumn, ...]:
    names = names_in_loop(case.source(own), own)
    columns = [
        RowColumn(
            name=name,
            kinds=kinds,
            shapes=collator.shapes.get(name, ()),
            total=collator.totals.get(name),
            supervised=collator.supervised.get(name),
            is_text=name in collator.texts,
            called=names.get(name, ""),
        )
        for name, kinds in collator.kinds.items()
    ]
    first = next((column for column in columns if column.is_ragged), None)
    return tuple(replace(column, labels=is_labels(column, first)) for column in columns)


def is_labels(column: RowColumn, first: RowColumn | None) -> bool:
    """By its name; of a tuple, what is as long as an item before it."""
    if column.total is None:
        return False
    if column.name.isdigit():
        return first is not None and column is not first and column.shapes == first.shapes
    return any(word in column.name.lower() for word in IN_LABELS)


def names_in_loop(source: Source | None, frame: Frame) -> dict[str, str]:
    """Position -> the name that the loop of a frame gives it: `for notes, key in loader`."""
    for loop in source.every(ast.For) if source else ():
        if loop.lineno == frame.place.line and isinstance(loop.target, ast.Tuple):
            return {str(at): ast.unparse(part) for at, part in enumerate(loop.target.elts)}
    return {}


def shapes_in(value: Value) -> tuple[tuple[int, ...], ...]:
    """Of a list of lists, or of tensors; empty where it holds others, too."""
    if value.lengths:
        return tuple((size,) for size in value.lengths)
    shapes = [member.shape for member in value.members.values()]
    return tuple(shape for shape in shapes if shape) if all(shapes) else ()


def takes(collator: CollatorSeen, column: RowColumn) -> bool:
    """Whether a collator makes a tensor of a column of text at all."""
    if column.name.isdigit() or column.name == "row":
        return False
    if collator.own or collator.kind not in ONLY_STACK:
        return True
    return collator.kind in PASS_STRINGS and "str" not in column.kinds


def is_about_text(
    case: Case, own: Frame, collator: CollatorSeen, texts: tuple[RowColumn, ...]
) -> bool:
    """A library's collator makes tensors of all columns; the user's own must have handed the rows
    to `tokenizer.pad`, or its failing line must make a tensor of this column."""
    if not collator.own:
        return True
    last = case.frames[-1]
    if any(frame.function.endswith(".pad") for frame in case.frames):
        return any(is_texts(value) for value in last.values)
    said = (own.expression or own.line).replace('"', "'")
    inside = (last.expression or last.line).lower()
    if "tensor" not in inside and "array" not in inside:
        return False  # a tokenizer was given the text rightly, and fails for another reason
    in_hand = {value.scalar for value in own.values if isinstance(value.scalar, str)}
    return any(column.name in in_hand or repr(column.name) in said for column in texts)


def is_texts(value: Value) -> bool:
    members = value.members.values()
    return bool(members) and all(isinstance(member.scalar, str) for member in members)
