"""Ids without a row, on hand-made recordings: which kind of ids they are, and what is then said."""

from dataclasses import replace
from textwrap import dedent
from typing import Any

import pytest

from surefit.doctor.conditions.tables import IdsFit
from surefit.doctor.findings import Finding, Place
from surefit.doctor.observations import (
    Answer,
    Crash,
    Frame,
    Layer,
    Process,
    Question,
    Script,
    Value,
)
from surefit.doctor.recording import Recording
from surefit.evidence.short_positions import Stretch
from surefit.evidence.table_lookups import are_scores_of_tokens
from surefit.rules.model import (
    ids_beyond_the_table,
    padding_outside_the_table,
    positions_beyond_the_table,
    token_types_beyond_the_table,
    tokens_without_rows,
)
from surefit.source.spans import Span

RULES = tuple(
    module.RULE
    for module in (
        tokens_without_rows,
        padding_outside_the_table,
        positions_beyond_the_table,
        ids_beyond_the_table,
        token_types_beyond_the_table,
    )
)

TEXT = dedent(
    """\
    from torch import nn
    PAD = -1
    class Net(nn.Module):
        def __init__(self, n, dim=8):
            super().__init__()
            self.table = nn.Embedding(n, dim)
        def forward(self, ids):
            return self.table(ids)
    rows = pad_sequence(rows, padding_value=PAD)
    net = Net(30)
    net(rows)
    """
)


def crash(
    path: str = "table", shape: tuple[int, ...] = (4, 6), padding_idx: int | None = None
) -> Crash:
    ids = Value("ids", "Tensor", 7, shape=shape, dtype="int64")
    sizes = {"num_embeddings": 30, "embedding_dim": 8}
    if padding_idx is not None:
        sizes["padding_idx"] = padding_idx
    table = Layer(
        "Embedding", path, "Net", Place("net.py", 6), sizes=sizes, parameters={"weight": (30, 8)}
    )
    text = "return self.table(ids)"
    frames: tuple[Frame, ...] = (
        Frame(
            Place("net.py", 11),
            "<module>",
            own=True,
            line="net(rows)",
            expression="net(rows)",
            values=(replace(ids, text="rows"), Value("net", "Net", 3, layer=Layer("Net"))),
        ),
        Frame(
            Place("net.py", 8),
            "Net.forward",
            own=True,
            line=text,
            expression="self.table(ids)",
            span=Span(8, 15, 8, 30),
            values=(ids, Value("self.table", "Embedding", 5, layer=table)),
            layer=Layer("Net", "", "Net", own=True),
            arguments=("self", "ids"),
        ),
        Frame(
            Place("torch/nn/functional.py", 2600),
            "embedding",
            own=False,
            values=(
                replace(ids, text="input"),
                Value("weight", "Parameter", 8, shape=(30, 8), requires_grad=True),
            ),
            arguments=("input", "weight"),
        ),
    )
    inner = Frame(Place("torch/nn/modules/sparse.py", 1), "Embedding.forward", False, layer=table)
    frames = (*frames[:2], inner, frames[2])
    return Crash("1-1", 1.0, Process(1), "IndexError", "IndexError: index out of range", frames)


def outside(**more: Any) -> dict[str, Any]:
    plain = {
        "outside": 3,
        "elements": 24,
        "distinct": 1,
        "first": [30],
        "least": 1,
        "greatest": 30,
        "longest": 6,
        "most_in_a_row": 1,
    }
    return {**plain, **more}


def found(one: Crash, said: dict[str, Any], text: str = TEXT) -> list[Finding]:
    table = one.frames[-2].layer
    filler = table.sizes.get("padding_idx") if table else None
    about = {"frame": 3, "text": "input", "rows": 30, "filler": filler}
    answer = Answer(Question("ids-outside", "1-1", about), said)
    seen = Recording([Script("net.py", text, main=True), one, answer])
    return [finding for rule in RULES for finding in rule.look(seen)]


def test_nothing_is_said_before_the_ids_are_known() -> None:
    seen = Recording([Script("net.py", TEXT), crash()])
    assert [finding for rule in RULES for finding in rule.look(seen)] == []
    assert seen.open_questions[0].kind == "ids-outside"


def test_a_lookup_of_ids_that_all_have_rows_failed_for_another_reason() -> None:
    assert found(crash(), outside(outside=0, distinct=0, first=[], greatest=29)) == []


@pytest.mark.parametrize(
    ("said", "rule"),
    [
        (outside(), "ids-beyond-the-table"),
        (outside(distinct=9, first=[30, 33, 60], greatest=90), "ids-beyond-the-table"),
        (outside(first=[-1], least=-1, greatest=29), "padding-outside-the-table"),
        (outside(first=[-100], least=-100, greatest=29), "padding-outside-the-table"),
        (
            outside(at_the_end=True, most_in_a_row=3, fewest_in_a_row=0),
            "padding-outside-the-table",
        ),
        (
            outside(least=0, greatest=39, distinct=10, first=[30, 31], counts_up_from=0),
            "positions-beyond-the-table",
        ),
        (
            outside(
                tokenizers=[{"kind": "Fast", "size": 31, "tokens": {"30": "<a>"}, "added": [30]}]
            ),
            "tokens-without-rows",
        ),
    ],
)
def test_each_kind_of_ids_has_one_rule(said: dict[str, Any], rule: str) -> None:
    assert [finding.rule for finding in found(crash(), said)] == [rule]


def test_negative_ids_of_several_values_are_none_of_these() -> None:
    assert found(crash(), outside(first=[-7, -3], distinct=2, least=-7, greatest=29)) == []


def test_one_end_mark_for_each_row_is_no_padding() -> None:
    (finding,) = found(crash(), outside(at_the_end=True, most_in_a_row=1, fewest_in_a_row=1))
    assert finding.rule == "ids-beyond-the-table"


def test_types_are_known_by_the_name_of_their_table() -> None:
    said = outside(first=[12], greatest=12)
    (finding,) = found(crash("embeddings.token_type_embeddings"), said)
    assert finding.rule == "token-types-beyond-the-table"
    (finding,) = found(crash("type_embeddings_of_items"), outside())
    assert finding.rule == "ids-beyond-the-table"


def test_padding_gets_a_row_of_its_own_and_labels_keep_the_mark() -> None:
    (finding,) = found(crash(), outside(first=[-1], least=-1, greatest=29, at_the_end=True))
    assert finding.place == Place("net.py", 2, 2)
    assert "padded with -1 (`PAD`)" in finding.headline
    (fix,) = finding.fixes
    assert fix.edit is not None
    texts = [change.text for change in fix.edit.changes]
    assert "n + 1" in texts
    assert "ids.masked_fill(ids == -1, self.table.padding_idx)" in texts


def test_a_table_that_has_a_row_for_padding_keeps_its_size() -> None:
    said = outside(first=[-100], least=-100, greatest=29, at_the_end=True)
    (finding,) = found(crash(padding_idx=0), said)
    (fix,) = finding.fixes
    assert fix.edit is not None
    assert [change.text for change in fix.edit.changes] == ["ids.masked_fill(ids == -100, 0)"]


def test_weights_that_are_used_elsewhere_are_not_made_more() -> None:
    text = TEXT.replace("net(rows)\n", "head.weight = net.table.weight\nnet(rows)\n")
    for said in (outside(), outside(first=[-1], least=-1, at_the_end=True)):
        (finding,) = found(crash(), said, text)
        assert all(fix.edit is None and fix.why_not_tried for fix in finding.fixes)


@pytest.mark.parametrize(
    ("counted", "place", "new"),
    [
        ("30", Place("net.py", 6), "31"),
        ("df.item.nunique()", Place("net.py", 10, 10), "int(df.item.max()) + 1"),
        ("len(set(items))", Place("net.py", 10, 10), "int(max(items)) + 1"),
        ("int(df.item.max())", Place("net.py", 10, 10), "int(df.item.max()) + 1"),
    ],
)
def test_rows_are_counted_where_the_source_counts_them(
    counted: str, place: Place, new: str
) -> None:
    (finding,) = found(crash(), outside(), TEXT.replace("Net(30)", f"Net({counted})"))
    assert finding.place == place
    assert finding.fixes[0].edit is not None
    assert [change.text for change in finding.fixes[0].edit.changes] == [new]


def test_ids_far_behind_the_last_row_are_not_given_rows_unasked() -> None:
    said = outside(distinct=9, first=[400, 500], greatest=5000)
    (finding,) = found(crash(), said)
    assert all(fix.edit is None for fix in finding.fixes)
    assert "re-index" in finding.fixes[1].text


def test_more_positions_where_they_are_set() -> None:
    said = outside(least=0, greatest=39, distinct=10, first=[30, 31], counts_up_from=0)
    (finding,) = found(crash(), said, TEXT.replace("net = Net(30)", "net = Net(n=30)"))
    assert finding.headline == (
        "Rows of 40 tokens are longer than the model has positions: `table` has 30 rows."
    )
    assert finding.place == Place("net.py", 10, 10)
    edits = [fix.edit for fix in finding.fixes if fix.edit]
    assert [edit.changes[0].text for edit in edits] == ["40", "64"]
    assert finding.fixes[-1].why_not_tried


@pytest.mark.parametrize(
    ("kind", "predictions", "of_tokens"),
    [
        ("LlamaForCausalLM", (4, 9, 30), True),
        ("LlamaForCausalLM", None, True),
        ("Net", (4, 30), False),
        ("BertForTokenClassification", (4, 9, 30), False),
        ("BertForSequenceClassification", None, False),
    ],
)
def test_labels_of_a_classifier_are_no_tokens(
    kind: str, predictions: tuple[int, ...] | None, of_tokens: bool
) -> None:
    logits = (Value("logits", "Tensor", shape=predictions),) if predictions else ()
    model = Frame(Place("net.py", 8), "forward", own=False, values=logits, layer=Layer(kind, ""))
    loss = Frame(Place("torch/nn/functional.py", 1), "cross_entropy", own=False)
    assert are_scores_of_tokens(replace(crash(), frames=(model, loss)), 30) is of_tokens


def test_rows_that_settings_carry_are_counted_where_these_are_made() -> None:
    text = TEXT.replace("PAD = -1\n", "class Settings:\n    n: int = 0\n    dim: int = 8\n", 1)
    text = text.replace("self, n, dim=8", "self, c").replace("(n, dim)", "(c.n, c.dim)")
    text = text.replace("net = Net(30)", "c = Settings(n=len(words))\nnet = Net(c)")
    one = crash()
    table = Layer(
        "Embedding",
        "table",
        "Net",
        Place("net.py", 8),
        sizes={"num_embeddings": 30},
        parameters={"weight": (30, 8)},
    )
    one = replace(one, frames=(*one.frames[:2], replace(one.frames[2], layer=table), one.frames[3]))
    (finding,) = found(one, outside(), text)
    assert finding.place == Place("net.py", 12, 12)
    assert finding.fixes[0].edit is not None
    assert [change.text for change in finding.fixes[0].edit.changes] == ["len(words) + 1"]


DECODED = dedent(
    """\
    def step(model, y):
        decoder_input_ids = y[:, :-1]
        return model(decoder_input_ids=decoder_input_ids, labels=y[:, 1:])
    """
)


def test_labels_that_a_decoder_reads_get_the_pad_token() -> None:
    one = crash("decoder.embed_tokens")
    ids = Value("decoder_input_ids", "Tensor", 7, shape=(4, 6), dtype="int64")
    line = DECODED.splitlines()[2]
    own = Frame(
        Place("net.py", 3),
        "step",
        own=True,
        line=line.strip(),
        span=Span(3, 11, 3, len(line)),
        values=(ids, Value("model", "T5", 3, layer=Layer("T5"))),
    )
    table = replace(one.frames[2], layer=one.frames[2].layer)
    inside = Frame(Place("modeling_t5.py", 9), "T5.forward", False, values=(ids,))
    one = replace(one, frames=(own, inside, table, one.frames[3]))
    said = outside(first=[-100], least=-100, greatest=29, at_the_end=True)
    (finding,) = found(one, said, DECODED)
    assert finding.place == Place("net.py", 2)
    padded, alone = finding.fixes
    assert padded.edit is not None
    assert [change.text for change in padded.edit.changes] == [
        "decoder_input_ids.masked_fill(decoder_input_ids == -100, model.config.pad_token_id)"
    ]
    assert padded.must == IdsFit(8, 30, 30)
    assert "`shift_tokens_right`" in alone.text


def test_the_library_s_model_inside_a_plain_module_is_resized() -> None:
    text = TEXT.replace("net(rows)", "tok.add_tokens(['<a>'])\nnet(rows)")
    one = crash("encoder.words")
    own = replace(
        one.frames[0],
        place=Place("net.py", 12),
        values=(
            Value("net", "Net", 3, layer=Layer("Net", "", "Net", own=True)),
            Value("tok", "Fast", 4),
        ),
    )
    bert = Frame(Place("bert.py", 1), "Bert.forward", False, layer=Layer("Bert", "encoder", "Net"))
    one = replace(one, frames=(own, one.frames[1], bert, *one.frames[2:]))
    known = [{"kind": "Fast", "size": 31, "tokens": {"30": "<a>"}, "added": [30]}]
    about = {"frame": 4, "text": "input", "rows": 30, "filler": None}
    answer = Answer(Question("ids-outside", "1-1", about), outside(tokenizers=known))
    seen = Recording([Script("net.py", text, main=True), one, answer])
    (finding,) = tokens_without_rows.RULE.look(seen)
    (fix,) = finding.fixes
    assert fix.edit is not None
    assert "net.encoder.resize_token_embeddings(len(tok))" in fix.edit.changes[0].text


OPTION = dedent(
    """\
    parser.add_argument("--max-length", type=int, default=30)
    config = RobertaConfig({size})
    """
)


@pytest.mark.parametrize(
    ("size", "offset", "line"),
    [
        ("", 0, 1),
        ("max_position_embeddings=30", 2, 1),  # it counts the two that are no positions
        ("max_position_embeddings=20", 0, 2),  # either could be meant
    ],
)
def test_the_length_of_rows_is_chosen_by_an_option(size: str, offset: int, line: int) -> None:
    usable = 30 - offset if offset else 20
    stretch = Stretch(30, usable, offset, Layer("Embedding", "positions", "Roberta"))
    seen = Recording([Script("net.py", OPTION.format(size=size), main=True)])
    declared = positions_beyond_the_table.declared_at(crash(), stretch, None, seen)
    length = positions_beyond_the_table.length_of_rows(stretch, declared, seen)
    place = positions_beyond_the_table.where(crash(), stretch, declared, None, length)
    assert place is not None
    assert place.line == line
    if length is not None:
        fix = positions_beyond_the_table.shorter_rows(stretch, length)
        assert fix.edit is not None
        assert [change.text for change in fix.edit.changes] == [str(usable)]
        assert fix.why_not_tried
