"""Ids that a table has no row for: which table, which ids, and what kind of ids they are."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

import msgspec

from surefit.doctor.causes import is_cause
from surefit.doctor.findings import Fact
from surefit.doctor.observations import Crash, Layer, Question, Value
from surefit.doctor.recording import Recording
from surefit.doctor.words import counted, listed, shape_of
from surefit.evidence.layer_names import described, name

LOOKUPS = ("embedding", "embedding_bag")
"""Functions of torch that look ids up in a table."""
SCORES = ("cross_entropy", "nll_loss")
POSITIONS = re.compile(r"(^|[._])(w?pe|w?pos|positions?)([._]|$)|pos(ition)?(al)?_?emb|emb\w*_pos")
MOST_TYPES = 16
TYPES = re.compile(r"token_?type|segment|(^|[._])types?_emb")


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """What a tokenizer of the run says of the ids."""

    kind: str
    size: int
    tokens: dict[str, str] = field(default_factory=dict)
    """Id -> token, of the ids outside that it has."""
    added: list[int] = field(default_factory=list)
    """Of these, the ones that were added to the tokenizer after it was made."""
    pad: int | None = None


@dataclass(frozen=True, slots=True)
class Outside:
    """The ids without a row, as the frozen frame tells."""

    outside: int
    elements: int
    distinct: int
    first: list[int]
    least: int
    greatest: int
    longest: int
    """Size of the last axis."""
    most_in_a_row: int = 0
    fewest_in_a_row: int = 0
    least_inside: int | None = None
    at_the_end: bool = False
    """In every row nothing but more of them follows; `at_the_start`: nothing precedes."""
    at_the_start: bool = False
    counts_up_from: int | None = None
    tokenizers: list[Vocabulary] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Lookup:
    """A table, and ids of which it lacks some."""

    rows: int
    width: int
    layer: Layer | None
    ids: Value
    frame: int
    """Number of the innermost frame, torch's own, in which the ids are `input`."""
    filler: int | None
    """The row that the table keeps for padding, if it has one."""
    trained: bool
    outside: Outside

    scored: bool = False
    """They are labels, and the rows are what the model can predict."""

    @property
    def table(self) -> str:
        if self.scored:
            return "the model's last layer"
        return name(self.layer) if self.layer else "the table"

    @property
    def marker(self) -> int | None:
        """The one id outside, where they are all the same."""
        return self.outside.first[0] if self.outside.distinct == 1 else None


def lookup_of(crash: Crash, seen: Recording) -> Lookup | None:
    """Of a crash in a lookup; None as long as the frames have not told of the ids."""
    frame = crash.frames[-1] if crash.frames and is_cause(crash, seen) else None
    if frame is None or frame.own or frame.function not in LOOKUPS:
        return None
    values = {value.text: value for value in frame.values}
    ids, weight = values.get("input"), values.get("weight")
    if ids is None or weight is None or not weight.shape or len(weight.shape) != 2:
        return None
    rows, width = weight.shape
    layer = next((one.layer for one in reversed(crash.frames) if one.layer), None)
    layer = layer if layer and layer.parameters.get("weight") == weight.shape else None
    filler = layer.sizes.get("padding_idx") if layer else None
    at = len(crash.frames) - 1
    about = {"frame": at, "text": "input", "rows": rows, "filler": filler}
    said = seen.ask(Question("ids-outside", crash.id, about))
    outside = msgspec.convert(said, Outside, strict=False) if said else None
    if outside is None or not outside.outside:
        return None
    trained = weight.requires_grad is True
    return Lookup(rows, width, layer, ids, at, filler, trained, outside)


def labels_of(crash: Crash, seen: Recording) -> Lookup | None:
    """Labels that a loss of a library's model has no class for, as if they were looked up."""
    frame = crash.frames[-1] if crash.frames and is_cause(crash, seen) else None
    above = [one for one in crash.frames[:-1] if one.layer is not None]
    if frame is None or frame.own or frame.function not in SCORES or not above:
        return None
    values = {value.text: value for value in frame.values}
    logits, labels = values.get("input"), values.get("target")
    if logits is None or labels is None or not logits.shape or len(logits.shape) != 2:
        return None
    if not are_scores_of_tokens(crash, logits.shape[1]):
        return None
    ignored = values.get("ignore_index")
    about = {"frame": len(crash.frames) - 1, "text": "target", "rows": logits.shape[1]}
    about |= {"filler": None, "ignored": ignored.scalar if ignored else -100}
    said = seen.ask(Question("ids-outside", crash.id, about))
    outside = msgspec.convert(said, Outside, strict=False) if said else None
    if outside is None or not outside.outside:
        return None
    at = len(crash.frames) - 1
    rows = logits.shape[1]
    return Lookup(rows, 0, above[0].layer, labels, at, None, False, outside, scored=True)


def are_scores_of_tokens(crash: Crash, rows: int) -> bool:
    """The model predicts a token at every place: it is no classifier, and where its own frames show
    the predictions, they have an axis for the places."""
    kinds = [one.layer.kind for one in crash.frames if one.layer is not None]
    if any(kind.endswith("Classification") for kind in kinds):
        return False
    shapes = [one.shape for frame in crash.frames[:-1] for one in frame.values if one.shape]
    predictions = [shape for shape in shapes if len(shape) > 1 and shape[-1] == rows]
    return not predictions or any(len(shape) > 2 for shape in predictions)


def are_positions(crash: Crash, lookup: Lookup) -> bool:
    """They count up by one from the first places of a row; one alone is known by its names."""
    if lookup.outside.least < 0:
        return False
    if lookup.outside.counts_up_from is not None:
        return lookup.outside.counts_up_from < lookup.rows
    return any(POSITIONS.search(one) for one in names(crash, lookup)) and (
        lookup.outside.longest == 1 or lookup.outside.at_the_end
    )


def are_types(crash: Crash, lookup: Lookup) -> bool:
    """By the names of the table or of the ids; there are never many types."""
    few_types = lookup.outside.greatest < MOST_TYPES
    return few_types and any(TYPES.search(one) for one in names(crash, lookup))


def vocabulary_of(lookup: Lookup) -> Vocabulary | None:
    """The tokenizer that has tokens for all ids outside."""
    if lookup.outside.least < 0:
        return None
    wanted = min(len(lookup.outside.first), lookup.outside.distinct)
    found = [one for one in lookup.outside.tokenizers if len(one.tokens) == wanted]
    fitting = [one for one in found if one.size > lookup.outside.greatest]
    return min(fitting, key=lambda one: one.size, default=None)


def are_tokens(crash: Crash, lookup: Lookup) -> bool:
    if are_positions(crash, lookup) or are_types(crash, lookup):
        return False
    return vocabulary_of(lookup) is not None


def are_filler(crash: Crash, lookup: Lookup) -> bool:
    """One negative number, or one that fills up the ends of rows."""
    marker = lookup.marker
    if marker is None or are_types(crash, lookup) or are_tokens(crash, lookup):
        return False
    return marker < 0 or (not are_positions(crash, lookup) and fills_rows(lookup))


def fills_rows(lookup: Lookup) -> bool:
    """In places at one end of rows, in some more than in others: not one mark for each."""
    outside = lookup.outside
    if not (outside.at_the_end or outside.at_the_start):
        return False
    return outside.most_in_a_row > 1 and outside.most_in_a_row > outside.fewest_in_a_row


def are_plain(crash: Crash, lookup: Lookup) -> bool:
    """Ids of things: none negative, and nothing else is known of them."""
    if lookup.outside.least < 0 or are_positions(crash, lookup) or are_types(crash, lookup):
        return False
    return not are_tokens(crash, lookup) and not are_filler(crash, lookup)


def names(crash: Crash, lookup: Lookup) -> Iterator[str]:
    """What the model calls the table, and what frames call the very ids."""
    if lookup.layer is not None and lookup.layer.path:
        yield lookup.layer.path
    for frame in crash.frames[:-1]:
        for value in frame.values:
            if value.identity == lookup.ids.identity:
                yield value.text


def facts(lookup: Lookup) -> Iterator[Fact]:
    outside = lookup.outside
    if lookup.scored:
        yield Fact("logits", f"for {counted(lookup.rows, 'token')}")
    kind = described(lookup.layer) if lookup.layer else "a table"
    made = f", made at {lookup.layer.made_at}" if lookup.layer and lookup.layer.made_at else ""
    if not lookup.scored:
        yield Fact(lookup.table, f"{kind}: rows 0 to {lookup.rows - 1:,}{made}")
    shape = shape_of(lookup.ids.shape or ())
    yield Fact(
        "its labels" if lookup.scored else "its ids",
        f"{shape}, from {outside.least:,} to {outside.greatest:,}",
    )
    yield Fact(
        "outside", f"{counted(outside.outside, 'id')} of {outside.elements:,}: {few(outside)}"
    )


def few(outside: Outside) -> str:
    if outside.distinct == 1:
        return f"all {outside.first[0]}"
    more = outside.distinct - len(outside.first)
    return listed(outside.first) + (f" and {more:,} more" if more > 0 else "")
