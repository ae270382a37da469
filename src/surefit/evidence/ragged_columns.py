"""Columns of a batch whose rows differ in size, and what each of them is filled up with."""

import ast
from dataclasses import dataclass

from surefit.doctor.observations import CollatorSeen
from surefit.source.reading import Source

PICTURE = 3
"""Axes of a picture: channels, height, width."""
LABELS = ("label", "target", "tag")
IGNORED = -100
ALSO_PADDED = ("attention_mask", "token_type_ids", "special_tokens_mask")
"""Columns that `tokenizer.pad` knows, whether or not the model wants them."""


@dataclass(frozen=True, slots=True)
class Ragged:
    """A column, and the shapes of its rows."""

    column: str
    shapes: tuple[tuple[int, ...], ...]
    total: int | None
    labels: bool = False
    """Its numbers are compared with predictions; padding must not count."""
    called: str = ""
    """What the user's code calls it, where it is a position of a tuple."""

    @property
    def name(self) -> str:
        """As people would say it: a position of a tuple has no name."""
        if self.called:
            return f"`{self.called}`"
        if self.column == "row":
            return "the rows"
        return f"item {self.column} of each row" if self.column.isdigit() else f"`{self.column}`"

    @property
    def sizes(self) -> int:
        return len(set(self.shapes))

    @property
    def only_first_axis(self) -> bool:
        """Rows are longer or shorter, and alike in all else."""
        return len({shape[1:] for shape in self.shapes}) == 1

    @property
    def padded(self) -> tuple[int, ...]:
        """The shape of the batch once it is filled up to its longest row."""
        return len(self.shapes), max(shape[0] for shape in self.shapes), *self.shapes[0][1:]

    @property
    def elements(self) -> int | None:
        if len(self.shapes[0]) > 1:
            return None
        return sum(shape[0] for shape in self.shapes)

    @property
    def is_picture(self) -> bool:
        return len(self.shapes[0]) >= PICTURE and not self.only_first_axis


def ragged_columns(collator: CollatorSeen) -> list[Ragged]:
    """Those that the collator does not pad; text is none of them."""
    pads = () if collator.own or not collator.pads else (*collator.pads, *ALSO_PADDED)
    found = [
        Ragged(column, shapes, collator.totals.get(column))
        for column, shapes in collator.shapes.items()
        if len(set(shapes)) > 1 and column not in (*pads, *collator.texts)
    ]
    first = found[0].shapes if found else ()
    return [
        Ragged(one.column, one.shapes, one.total, is_labels(one, number, first))
        for number, one in enumerate(found)
    ]


def is_labels(one: Ragged, number: int, first: tuple[tuple[int, ...], ...]) -> bool:
    """By its name; of a tuple, what is as long as the item before it."""
    if one.total is None:
        return False
    if one.column.isdigit():
        return number > 0 and one.shapes == first
    return any(word in one.column.lower() for word in LABELS)


def filling(source: Source, one: Ragged) -> str:
    """What an empty place holds, as the source would write it."""
    if one.labels:
        return str(ignored_by(source))
    if one.total is None or "mask" in one.column:
        return "0"
    if one.column == "input_ids" and (tokenizer := tokenizer_of(source)):
        return f"{tokenizer}.pad_token_id"
    for call in source.every(ast.Call):
        given = source.argument(call, "padding_idx")
        if isinstance(given, ast.Constant) and isinstance(given.value, int):
            return str(given.value)
        if isinstance(given, ast.Name) and is_global(source, given):
            return given.id
    return next(iter(pad_names(source)), "0")


def tokenizer_of(source: Source) -> str:
    """The name of the module's own tokenizer of transformers; empty where it has none."""
    if "transformers" not in source.text:
        return ""
    names = source.bindings[source.tree]
    return next((name for name in names if name.lower() in ("tokenizer", "tok")), "")


def ignored_by(source: Source) -> int:
    """The label that the script's losses pass over."""
    for node in source.every(ast.keyword):
        if node.arg == "ignore_index":
            try:
                value = ast.literal_eval(node.value)
            except ValueError:
                continue
            return value if isinstance(value, int) else IGNORED
    return IGNORED


def is_global(source: Source, name: ast.Name) -> bool:
    bound = source.bound_by(name)
    return bool(bound) and all(source.scope_of(one) is source.tree for one in bound)


def pad_names(source: Source) -> list[str]:
    """Numbers of the module that are named for padding: `PAD = 0`."""
    return [
        target.id
        for statement in source.tree.body
        if isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Constant)
        for target in statement.targets
        if isinstance(target, ast.Name)
        and target.id.upper()
        in ("PAD", "PAD_ID", "PAD_IDX", "PAD_INDEX", "PADDING", "PAD_TOKEN_ID")
        and isinstance(statement.value.value, int)
    ]
