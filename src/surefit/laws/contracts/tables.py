"""What a table takes: ids, each of which is the number of one of its rows."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from surefit.doctor.conditions.tables import IdsFit
from surefit.doctor.findings import Fact
from surefit.doctor.observations import Frame, Layer, Value
from surefit.doctor.violations import Expression, Operand, Violation, fact_at, in_code
from surefit.doctor.words import counted, shape_of
from surefit.laws.case import Case, use_of
from surefit.laws.layers.layer_words import described, layer_name
from surefit.laws.layers.table_ids import OutsideIds, Vocabulary
from surefit.laws.values.names import handed_text, name_in

LOOKUPS = ("embedding", "embedding_bag")
"""Functions of torch that look ids up in a table."""
SCORES = ("cross_entropy", "nll_loss")
POSITIONS = re.compile(r"(^|[._])(w?pe|w?pos|positions?)([._]|$)|pos(ition)?(al)?_?emb|emb\w*_pos")
TYPES = re.compile(r"token_?type|segment|(^|[._])types?_emb")
MOST_TYPES = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class IdsOutside(Violation):
    """A table was asked for rows that it does not have."""

    table: str
    """In backticks: its path in the model."""
    rows: int
    ids: Operand
    outside: OutsideIds
    width: int = 0
    layer: Layer | None = None
    filler: int | None = None
    """The row that the table keeps for padding, if it has one."""
    trained: bool = False
    names: tuple[str, ...] = ()
    """What the model calls the table, and what frames call the very ids."""
    scored: bool = False
    """They are labels, and the rows are what the model can predict."""
    created: Expression | None = None
    """Of source that was only read: the constructor, and where the number of rows is written."""
    size: Expression | None = None

    @property
    def least(self) -> int:
        return self.outside.least

    @property
    def greatest(self) -> int:
        return self.outside.greatest

    @property
    def marker(self) -> int | None:
        return self.outside.marker

    @property
    def missing(self) -> int:
        """Rows for the greatest id that are not there."""
        return self.greatest - self.rows + 1

    def facts(self) -> Iterator[Fact]:
        if self.scored:
            yield Fact("logits", f"for {counted(self.rows, 'token')}")
        else:
            kind = described(self.layer) if self.layer else "a table"
            made_at = self.created.place if self.created else self.layer and self.layer.made_at
            at = f", created at {made_at}" if made_at else ""
            yield Fact(self.table, f"{kind}: rows 0 to {self.rows - 1:,}{at}")
        if not self.outside.elements:
            yield from fact_at("looked up at", self.use)
            return
        shape = shape_of(self.ids.shape)
        what = "its labels" if self.scored else "its ids"
        yield Fact(what, f"{shape}, from {self.least:,} to {self.greatest:,}")
        yield Fact("outside", self.outside.words)

    def holds(
        self, becomes: int | None = None, arrive: int | None = None, *, past: bool = False
    ) -> IdsFit:
        """No id has no row; a table that grows starts with other numbers."""
        return IdsFit(
            width=self.width, rows=self.rows, becomes=becomes, arrive=arrive, changes_the_past=past
        )


class PositionsOutside(IdsOutside):
    """The ids count up by one along each row."""

    @property
    def offset(self) -> int:
        """Rows of the table before that of the first position: some models count from 2."""
        return self.outside.counts_up_from or 0

    @property
    def needed(self) -> int:
        return self.greatest + 1 - self.offset

    @property
    def usable(self) -> int:
        return self.rows - self.offset


class TypesOutside(IdsOutside):
    """Types of tokens: by the names of the table or of the ids."""


class TokensOutside(IdsOutside):
    """A tokenizer of the run has a token for each of them."""

    @property
    def vocabulary(self) -> Vocabulary:
        known = self.outside.vocabulary
        assert known is not None
        return known


class MarkerOutside(IdsOutside):
    """One negative number, or one that fills up the ends of rows."""


class ItemsOutside(IdsOutside):
    """Ids of things: none is negative, and nothing else is known of them."""


def violations_of(case: Case) -> Iterator[Violation]:
    if case.own is None or case.frames[-1].own:
        return
    if case.frames[-1].function in LOOKUPS:
        yield from lookup(case, case.own, case.frames[-1])
    elif case.frames[-1].function in SCORES:
        yield from labels(case, case.own, case.frames[-1])


def lookup(case: Case, own: Frame, frame: Frame) -> Iterator[IdsOutside]:
    ids, weight = frame.value("input"), frame.value("weight")
    if ids is None or weight is None or not weight.shape or len(weight.shape) != 2:
        return
    if (ids.dtype or "").startswith(("float", "bfloat")):
        return
    rows, width = weight.shape
    layer = next((above.layer for above in reversed(case.frames) if above.layer), None)
    layer = layer if layer and layer.parameters.get("weight") == weight.shape else None
    filler = layer.sizes.get("padding_idx") if layer else None
    operand = looked_up(case, ids)
    outside = case.ask(OutsideIds, frame=operand.frame, text="input", rows=rows, filler=filler)
    names = tuple(names_of(case, ids, layer))
    kind = kind_of(outside, rows, names) if outside and outside.outside else None
    if outside is None or kind is None:
        return
    yield kind(
        use=use_of(own),
        table=layer_name(layer) if layer else "the table",
        rows=rows,
        ids=operand,
        outside=outside,
        width=width,
        layer=layer,
        filler=filler,
        trained=weight.requires_grad is True,
        names=names,
    )


def labels(case: Case, own: Frame, frame: Frame) -> Iterator[IdsOutside]:
    """Labels that the loss of a library's language model has no class for: tokens, too."""
    above = [outer.layer for outer in case.frames[:-1] if outer.layer is not None]
    logits, target = frame.value("input"), frame.value("target")
    if not above or logits is None or target is None or len(logits.shape or ()) != 2:
        return
    rows = (logits.shape or (0,))[-1]
    if not are_scores_of_tokens(case, rows):
        return
    operand, ignored = looked_up(case, target), frame.value("ignore_index")
    about = {"filler": None, "ignored": ignored.scalar if ignored else -100}
    outside = case.ask(OutsideIds, frame=operand.frame, text="target", rows=rows, **about)
    if outside is not None and outside.outside and outside.vocabulary is not None:
        yield TokensOutside(
            use=use_of(own),
            table="the model's last layer",
            rows=rows,
            ids=operand,
            outside=outside,
            layer=above[0],
            scored=True,
        )


def kind_of(outside: OutsideIds, rows: int, names: tuple[str, ...]) -> type[IdsOutside] | None:
    """What the ids are, from their numbers and from what they are called."""
    if are_types(outside, names):
        return TypesOutside
    if outside.least >= 0 and are_positions(outside, rows, names):
        return PositionsOutside
    if outside.vocabulary is not None:
        return TokensOutside
    if outside.marker is not None and (outside.marker < 0 or outside.fills_rows):
        return MarkerOutside
    return ItemsOutside if outside.least >= 0 else None


def are_types(outside: OutsideIds, names: tuple[str, ...]) -> bool:
    """There are never many types."""
    few = outside.least >= 0 and outside.greatest < MOST_TYPES
    return few and any(TYPES.search(known) for known in names)


def are_positions(outside: OutsideIds, rows: int, names: tuple[str, ...]) -> bool:
    """They count up by one from the first positions of a row; a single one is known by its
    names."""
    if outside.counts_up_from is not None:
        return outside.counts_up_from < rows
    named = any(POSITIONS.search(known) for known in names)
    return named and (outside.longest == 1 or outside.at_the_end)


def are_scores_of_tokens(case: Case, rows: int) -> bool:
    """The model predicts a token at every position: it is no classifier, and where its own frames
    show the predictions, they have an axis for positions."""
    kinds = [frame.layer.kind for frame in case.frames if frame.layer is not None]
    if any(kind.endswith("Classification") for kind in kinds):
        return False
    shapes = [value.shape for frame in case.frames[:-1] for value in frame.values if value.shape]
    predictions = [shape for shape in shapes if len(shape) > 1 and shape[-1] == rows]
    return not predictions or any(len(shape) > 2 for shape in predictions)


def looked_up(case: Case, value: Value) -> Operand:
    """Of the innermost frame, with the user's name for it."""
    last = len(case.frames) - 1
    text = name_in(case, value, last) or handed_text(case)
    return Operand(value=value, name=in_code(text, "`input`"), frame=last)


def names_of(case: Case, ids: Value, layer: Layer | None) -> Iterator[str]:
    if layer is not None and layer.path:
        yield layer.path
    for frame in case.frames[:-1]:
        yield from (value.text for value in frame.values if value.identity == ids.identity)
