"""Ids without a row, on hand-made recordings: which kind of ids they are, and what is then said."""

from dataclasses import replace
from textwrap import dedent
from typing import Any

import pytest

from recorded_findings import Chains, answer, found, mended, number
from surefit.doctor.conditions.tables import IdsFit
from surefit.doctor.findings import Finding, Place
from surefit.doctor.observations import Crash, Frame, Layer, Process, Value
from surefit.doctor.recording import Recording
from surefit.laws.case import Case
from surefit.laws.contracts.tables import are_scores_of_tokens
from surefit.lineage.producers import Way
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
    frames = (
        Frame(
            Place("net.py", 11),
            "<module>",
            own=True,
            line="net(rows)",
            expression="net(rows)",
            span=Span(11, 0, 11, 9),
            values=(replace(ids, text="rows"), Value("net", "Net", 3, layer=Layer("Net"))),
        ),
        Frame(
            Place("net.py", 8),
            "Net.forward",
            own=True,
            line="return self.table(ids)",
            expression="self.table(ids)",
            span=Span(8, 15, 8, 30),
            values=(ids, Value("self.table", "Embedding", 5, layer=table)),
            layer=Layer("Net", "", "Net", own=True),
            arguments=("self", "ids"),
        ),
        Frame(Place("torch/nn/modules/sparse.py", 1), "Embedding.forward", False, layer=table),
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


def looked_up(
    broken: Crash, said: dict[str, Any], text: str = TEXT, chains: Chains | None = None
) -> list[Finding]:
    table = broken.frames[-2].layer
    filler = table.sizes.get("padding_idx") if table else None
    at = len(broken.frames) - 1
    told = answer("ids-outside", said, frame=at, text="input", rows=30, filler=filler)
    return found(RULES, text, broken, told, file="net.py", chains=chains)


def rows_from(written: str) -> Chains:
    """The lineage of the table: its constructor, `n`, and what that was given."""
    return {
        (1, "self.table"): [
            ("self.table", Value("self.table", "Embedding")),
            ("nn.Embedding(n, dim)", Value("x", "Embedding"), Way.ATTRIBUTE, "table"),
            ("n", number(30), Way.ARGUMENT, "num_embeddings"),
            (written, number(30), Way.BINDING, "n"),
        ]
    }


def ids_from(*texts: str, least: float = -1, greatest: float = 29) -> Chains:
    tensor = Value("x", "Tensor", shape=(4, 6), dtype="int64", least=least, greatest=greatest)
    first, *others = texts
    return {
        (3, "input"): [
            (first, tensor, Way.ARGUMENT, "0"),
            *((text, tensor, Way.BINDING, "ids") for text in others),
        ]
    }


def test_a_lookup_of_ids_that_all_have_rows_failed_for_another_reason() -> None:
    assert looked_up(crash(), outside(outside=0, distinct=0, first=[], greatest=29)) == []


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
            outside(at_the_end=True, most_in_a_row=1, fewest_in_a_row=1),  # a mark for each row
            "ids-beyond-the-table",
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
    assert [finding.rule for finding in looked_up(crash(), said)] == [rule]


def test_negative_ids_of_several_values_are_none_of_these() -> None:
    assert looked_up(crash(), outside(first=[-7, -3], distinct=2, least=-7, greatest=29)) == []


def test_types_are_known_by_the_name_of_their_table() -> None:
    said = outside(first=[12], greatest=12)
    (finding,) = looked_up(crash("embeddings.token_type_embeddings"), said)
    assert finding.rule == "token-types-beyond-the-table"
    (finding,) = looked_up(crash("type_embeddings_of_items"), outside())
    assert finding.rule == "ids-beyond-the-table"


def test_padding_gets_a_row_of_its_own_and_labels_keep_the_marker() -> None:
    said = outside(first=[-1], least=-1, greatest=29, at_the_end=True)
    minus = Value("PAD", "int", scalar=-1)
    chains = {
        **rows_from("30"),
        (3, "input"): [
            *ids_from("ids", "rows")[3, "input"],
            ("PAD", minus, Way.ARGUMENT, "padding_value"),
            ("-1", minus, Way.BINDING, "PAD"),
        ],
    }
    (finding,) = looked_up(crash(), said, chains=chains)
    assert finding.place.line == 2
    assert "padded with -1 (`PAD`)" in finding.headline
    (fix,) = finding.fixes
    assert fix.choice
    assert fix.must == IdsFit(width=8, rows=30, becomes=31, changes_the_past=True)
    patch = mended(finding, TEXT)
    assert "nn.Embedding(n + 1, dim, padding_idx=n)" in patch
    assert "self.table(ids.masked_fill(ids == -1, self.table.padding_idx))" in patch


def test_a_table_that_has_a_row_for_padding_keeps_its_size() -> None:
    said = outside(first=[-100], least=-100, greatest=29, at_the_end=True)
    (finding,) = looked_up(crash(padding_idx=0), said, chains=ids_from("ids", least=-100))
    (fix,) = finding.fixes
    assert not fix.choice
    assert fix.edit is not None
    assert [change.text for change in fix.edit.changes] == ["ids.masked_fill(ids == -100, 0)"]


@pytest.mark.parametrize(
    ("counted", "line", "patch"),
    [
        ("30", 10, "nn.Embedding(n + 1, dim)"),
        ("df.item.nunique()", 10, "Net(int(df.item.max()) + 1)"),
        ("len(set(items))", 10, "Net(int(max(items)) + 1)"),
        ("int(df.item.max())", 10, "nn.Embedding(n + 1, dim)"),
        ("len(words)", 6, "nn.Embedding(n + 1, dim)"),
    ],
)
def test_rows_are_counted_where_the_source_counts_them(counted: str, line: int, patch: str) -> None:
    text = TEXT.replace("Net(30)", f"Net({counted})")
    (finding,) = looked_up(crash(), outside(), text, rows_from(counted))
    assert finding.place.line == line
    assert patch in mended(finding, text)
    assert finding.fixes[0].choice


def test_a_number_that_is_assigned_to_a_name_can_mean_other_things() -> None:
    text = TEXT.replace("net = Net(30)", "ITEMS = 30; net = Net(int(ITEMS))")
    chains = rows_from("int(ITEMS)")
    steps = [*chains[1, "self.table"], ("30", number(30), Way.BINDING, "ITEMS")]
    (finding,) = looked_up(crash(), outside(), text, {(1, "self.table"): steps})
    assert finding.place.line == 6
    assert "nn.Embedding(n + 1, dim)" in mended(finding, text)
    assert "Net(int(ITEMS) + 1)" in mended(finding, text, 1)


def test_ids_that_count_from_one_can_be_shifted_where_they_come_from() -> None:
    text = TEXT.replace("rows = pad_sequence(rows, padding_value=PAD)", "rows = table.item")
    chains = ids_from("ids", "table.item", least=1, greatest=30)
    (finding,) = looked_up(crash(), outside(), text, chains)
    assert "rows = table.item - 1" in mended(finding, text)
    assert finding.fixes[0].must == IdsFit(
        width=8, rows=30, becomes=30, arrive=29, changes_the_past=True
    )


def test_ids_far_beyond_the_last_row_can_be_re_indexed() -> None:
    said = outside(distinct=9, first=[400, 500], greatest=5_000_000)
    (finding,) = looked_up(crash(), said, chains=rows_from("30"))
    assert [fix.edit for fix in finding.fixes] == [None]
    assert "Re-index" in finding.fixes[0].text


def test_more_positions_where_they_are_written() -> None:
    said = outside(least=0, greatest=39, distinct=10, first=[30, 31], counts_up_from=0)
    (finding,) = looked_up(crash(), said, chains=rows_from("30"))
    assert finding.headline == (
        "Rows of 40 tokens are longer than the model has positions: `table` has 30 rows."
    )
    assert finding.place.line == 10
    assert [("Net(40)" in mended(finding, TEXT)), "Net(64)" in mended(finding, TEXT, 1)] == [
        True,
        True,
    ]
    assert finding.fixes[2].edit is None


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
    case = Case(Recording([]), replace(crash(), frames=(model, loss)))
    assert are_scores_of_tokens(case, 30) is of_tokens


DECODED = dedent(
    """\
    def step(model, y):
        decoder_input_ids = y[:, :-1]
        return model(decoder_input_ids=decoder_input_ids, labels=y[:, 1:])
    """
)


def test_labels_that_a_decoder_reads_get_the_pad_token() -> None:
    broken = crash("decoder.embed_tokens")
    ids = Value("decoder_input_ids", "Tensor", 7, shape=(4, 6), dtype="int64")
    line = DECODED.splitlines()[2]
    own = Frame(
        Place("net.py", 3),
        "step",
        own=True,
        line=line.strip(),
        expression=line.strip()[7:],
        span=Span(3, 11, 3, len(line)),
        values=(ids, Value("model", "T5", 3, layer=Layer("T5"))),
    )
    inside = Frame(Place("modeling_t5.py", 9), "T5.forward", False, values=(ids,))
    broken = replace(broken, frames=(own, inside, *broken.frames[2:]))
    said = outside(first=[-100], least=-100, greatest=29, at_the_end=True)
    tensor = Value("x", "Tensor", shape=(4, 6), dtype="int64", least=-100, greatest=29)
    chains: Chains = {(3, "input"): [("y[:, :-1]", tensor, Way.ARGUMENT, "decoder_input_ids")]}
    (finding,) = looked_up(broken, said, DECODED, chains)
    padded, alone = finding.fixes
    assert padded.must == IdsFit(width=8, rows=30, becomes=30)
    assert "shifted to the right" in alone.text
    assert "labels=y[:, 1:])" in mended(finding, DECODED)  # the labels keep -100


def test_the_library_s_model_inside_a_plain_module_is_resized() -> None:
    text = TEXT.replace("net(rows)", "tok.add_tokens(['<a>'])\nnet(rows)")
    broken = crash("encoder.words")
    own = replace(
        broken.frames[0],
        place=Place("net.py", 12),
        span=Span(12, 0, 12, 9),
        values=(
            Value("net", "Net", 3, layer=Layer("Net", "", "Net", own=True)),
            Value("tok", "Fast", 4),
        ),
    )
    bert = Frame(Place("bert.py", 1), "Bert.forward", False, layer=Layer("Bert", "encoder", "Net"))
    broken = replace(broken, frames=(own, broken.frames[1], bert, *broken.frames[2:]))
    known = [{"kind": "Fast", "size": 31, "tokens": {"30": "<a>"}, "added": [30]}]
    resized = answer("resized-table", None, frame=0, text="net.encoder", size=31)
    told = answer(
        "ids-outside",
        outside(tokenizers=known),
        frame=4,
        text="input",
        rows=30,
        filler=None,
    )
    (finding,) = found(RULES, text, broken, told, resized, file="net.py")
    assert finding.place.line == 11
    assert "net.encoder.resize_token_embeddings(len(tok))\nnet(rows)" in mended(finding, text)
