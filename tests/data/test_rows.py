"""Kinds of row are told apart, and every bad row is named with its file, line and field."""

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from surefit.data import rows as rows_module
from surefit.data.bad_rows import BadRow, BadRows
from surefit.data.rows import TOO_FEW_ROWS, Fields, Row, RowSet, Turn, read_rows
from surefit.doctor.findings import Finding, Place
from surefit.errors import BadInput

GOOD = {"input": "Where is Ann?", "target": "Rome"}


@pytest.fixture(autouse=True)
def _inside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def write(rows: Sequence[object], name: str = "rows.jsonl") -> str:
    Path(name).write_text("\n".join(json.dumps(row) for row in rows))
    return name


def read(*rows: object, fields: Fields | None = None, skip: bool = False) -> RowSet:
    return read_rows(write(rows), fields or Fields(), skip_bad_rows=skip)


def refused(*rows: object, fields: Fields | None = None) -> Finding:
    with pytest.raises(BadInput) as error:
        read(*rows, fields=fields)
    (finding,) = error.value.findings
    return finding


def facts(finding: Finding) -> dict[str, str]:
    return {fact.name: fact.value for fact in finding.facts}


def messages(*turns: tuple[str, object]) -> dict[str, object]:
    return {"messages": [{"role": role, "content": text} for role, text in turns]}


CHAT = messages(("user", "Hello"), ("assistant", "Good day"))


# Kinds


def test_prompt_and_answer() -> None:
    found = read(GOOD, {"input": "a", "target": "b", "score": None})
    assert (found.kind, found.source, found.bad, found.skipped) == (
        "prompt-answer",
        "rows.jsonl",
        (),
        0,
    )
    turns = (Turn("user", "Where is Ann?"), Turn("assistant", "Rome"))
    assert found.rows[0] == Row(0, Place("rows.jsonl", line=1), turns)
    assert (found.rows[1].input, found.rows[1].target) == ("a", "b")


def test_messages() -> None:
    whole = messages(("system", "Be kind"), ("user", "Hello"), ("assistant", "Good day"))
    found = read(whole, CHAT)
    assert found.kind == "messages"
    assert found.rows[0].turns == (
        Turn("system", "Be kind"),
        Turn("user", "Hello"),
        Turn("assistant", "Good day"),
    )
    assert (found.rows[0].input, found.rows[0].target) == ("Be kind\nHello", "Good day")


def test_sharegpt() -> None:
    turns = [("system", "Be kind"), ("human", "Hello"), ("gpt", "Good day")]
    row = {"conversations": [{"from": role, "value": text} for role, text in turns]}
    found = read(row, row)
    assert found.kind == "sharegpt"
    assert [turn.role for turn in found.rows[0].turns] == ["system", "user", "assistant"]


def test_alpaca() -> None:
    plain = {"instruction": "Name a city.", "output": "Rome"}
    found = read({**plain, "input": "In Italy."}, {**plain, "input": ""}, plain)
    assert found.kind == "alpaca"
    assert [row.input for row in found.rows] == [
        "Name a city.\n\nIn Italy.",
        "Name a city.",
        "Name a city.",
    ]


def test_field_names_of_the_users_own_win() -> None:
    row = {"messages": [], "instruction": "q", "output": "a", "input": "i", "target": "t"}
    found = read(row, row, fields=Fields(input="instruction"))
    assert (found.kind, found.rows[0].input, found.rows[0].target) == ("prompt-answer", "q", "t")


# Missing columns


def test_missing_columns_name_what_is_there_and_the_flags() -> None:
    finding = refused({"question": "a", "answer": "b"}, {"question": "c", "answer": "d"})
    assert (finding.rule, str(finding.place)) == ("missing-column", "rows.jsonl:1")
    assert finding.headline == "No row has the columns `input` and `target`."
    assert facts(finding)["columns of the first row"] == "question, answer"
    assert [fix.text for fix in finding.fixes] == [
        "Take the column `question`:  --input-field question",
        "Take the column `answer`:  --target-field answer",
    ]


def test_a_misspelt_field_name_is_answered_with_the_nearest() -> None:
    finding = refused({"prompt": "a", "reply": "b"}, fields=Fields("promt", "reply"))
    assert finding.headline == "No row has the column `promt`."
    assert [fix.text for fix in finding.fixes] == [
        "Take the column `prompt`:  --input-field prompt"
    ]


def test_a_column_unlike_all_others_gives_the_flag() -> None:
    finding = refused({"input": "a", "zzz": "b"})
    assert [fix.text for fix in finding.fixes] == [
        "Name the column that holds the answer: `--target-field NAME`."
    ]


def test_one_row_without_a_column_is_one_bad_row() -> None:
    for rows, line in (
        ((GOOD, {"input": "a", "traget": "b"}, GOOD), 2),
        (({"input": "a"}, GOOD), 1),
    ):
        finding = refused(*rows)
        assert (finding.rule, str(finding.place)) == ("missing-column", f"rows.jsonl:{line}")
        assert finding.headline == f"The column `target` is missing on line {line}."
        assert facts(finding)["columns"] == ", ".join(rows[line - 1])


# Bad values


@pytest.mark.parametrize(
    ("value", "rule", "headline", "fact"),
    [
        (None, "null-value", "`target` is null on line 2.", None),
        (3, "not-text", "`target` is not text on line 2.", "a number: 3"),
        (True, "not-text", "`target` is not text on line 2.", "true or false: True"),
        (["x"], "not-text", "`target` is not text on line 2.", "a list: ['x']"),
        ("", "empty-text", "`target` is empty on line 2.", None),
        (" \n", "empty-text", "`target` is empty on line 2.", "2 characters, none but white space"),
    ],
)
def test_a_bad_target_is_named(value: object, rule: str, headline: str, fact: str | None) -> None:
    finding = refused(GOOD, {"input": "a", "target": value}, GOOD)
    assert (finding.rule, str(finding.place)) == (rule, "rows.jsonl:2")
    assert finding.headline == headline
    assert facts(finding).get("`target`") == fact
    assert facts(finding)["bad rows"] == "1 of 3: line 2"
    assert finding.fixes[-1].text == "Fix this line, or skip it: `--skip-bad-rows`."


@pytest.mark.parametrize("value", [None, 1.5, "", "\t"])
def test_a_bad_input_is_named(value: object) -> None:
    finding = refused(GOOD, {"input": value, "target": "a"})
    assert str(finding.place) == "rows.jsonl:2"
    assert finding.headline.startswith("`input` is ")


@pytest.mark.parametrize("column", ["instruction", "input", "output"])
def test_a_bad_alpaca_column_is_named(column: str) -> None:
    row = {"instruction": "a", "input": "b", "output": "c"}
    finding = refused(row, row | {column: 5})
    assert finding.headline == f"`{column}` is not text on line 2."


def test_a_long_value_is_shortened() -> None:
    finding = refused(GOOD, {"input": "a", "target": ["long"] * 100})
    assert facts(finding)["`target`"].endswith("…")
    assert len(facts(finding)["`target`"]) < 80


@pytest.mark.parametrize(
    ("row", "rule", "headline"),
    [
        ({"messages": []}, "empty-conversation", "`messages` is an empty list"),
        ({"messages": None}, "null-value", "`messages` is null"),
        ({"messages": "hello"}, "malformed-turn", "`messages` is not a list of turns"),
        (
            {"messages": ["hello"]},
            "malformed-turn",
            "`messages` holds a turn that is not an object",
        ),
        (
            {"messages": [{"role": "user"}]},
            "malformed-turn",
            "`messages` holds a turn without `role` or `content`",
        ),
        (
            messages(("user", "a"), ("asistant", "b")),
            "unknown-role",
            "`messages` holds a turn of an unknown role",
        ),
        (
            messages(("user", "a")),
            "no-assistant-turn",
            "`messages` has no turn of the assistant",
        ),
        (
            messages(("user", "a"), ("assistant", "b"), ("user", "c")),
            "unanswered-turn",
            "`messages` ends with a turn that has no assistant answer",
        ),
        (
            messages(("assistant", "b")),
            "unasked-answer",
            "`messages` has nothing before the assistant's turn",
        ),
        (
            messages(("user", "a"), ("assistant", ["b"])),
            "not-text",
            "`messages.content` is not text",
        ),
        (
            messages(("user", "a"), ("assistant", None)),
            "null-value",
            "`messages.content` is null",
        ),
        (
            messages(("user", " "), ("assistant", "b")),
            "empty-text",
            "`messages.content` is empty",
        ),
        ({"text": "a"}, "missing-column", "The column `messages` is missing"),
    ],
)
def test_a_bad_conversation_is_named(row: dict[str, object], rule: str, headline: str) -> None:
    finding = refused(CHAT, row)
    assert (finding.rule, str(finding.place)) == (rule, "rows.jsonl:2")
    assert finding.headline == f"{headline} on line 2."


def test_a_bad_turn_is_counted_and_a_misspelt_role_put_right() -> None:
    finding = refused(CHAT, messages(("user", "a"), ("asistant", "b")))
    assert facts(finding) == {
        "bad rows": "1 of 2: line 2",
        "turn": "2",
        "`role`": "asistant",
        "known": "system, user, assistant, tool",
    }
    assert finding.fixes[0].text == "Write `assistant` for `asistant`."


# Groups of bad rows


def test_bad_rows_are_grouped_by_rule_and_field() -> None:
    null, number = GOOD | {"target": None}, GOOD | {"input": 3}
    with pytest.raises(BadInput) as error:
        read(GOOD, null, number, GOOD, null, null)
    first, second = error.value.findings
    assert first.headline == "`target` is null in 3 of 6 rows, first on line 2."
    assert facts(first)["bad rows"] == "3 of 6: lines 2, 5, 6"
    assert first.fixes[-1].text == ("Fix these lines, or skip all 3: `--skip-bad-rows`.")
    assert (second.rule, str(second.place)) == ("not-text", "rows.jsonl:3")


def test_at_most_20_lines_are_listed() -> None:
    finding = refused(GOOD, *[GOOD | {"target": ""}] * 33)
    listed = ", ".join(str(line) for line in range(2, 22))
    assert facts(finding)["bad rows"] == f"33 of 34: lines {listed} and 13 more"


def test_lines_that_cannot_be_read_are_bad_rows_too() -> None:
    name = write([GOOD, GOOD, GOOD])
    Path(name).write_text(Path(name).read_text() + '\n{"input": \n[]\n')
    with pytest.raises(BadInput) as error:
        read_rows(name, Fields())
    assert [(f.rule, str(f.place)) for f in error.value.findings] == [
        ("invalid-json", "rows.jsonl:4"),
        ("not-an-object", "rows.jsonl:5"),
    ]
    found = read_rows(name, Fields(), skip_bad_rows=True)
    assert (len(found.rows), found.skipped) == (3, 2)


def test_skipping_leaves_bad_rows_out_counts_them_and_keeps_numbers() -> None:
    bad = GOOD | {"target": None}
    found = read(bad, GOOD, bad, GOOD, skip=True)
    assert [row.number for row in found.rows] == [1, 3]
    assert [row.place.line for row in found.rows] == [2, 4]
    assert found.skipped == 2
    assert [facts(finding)["bad rows"] for finding in found.bad] == ["2 of 4: lines 1, 3"]


def test_rows_of_tables_are_called_rows() -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    pq.write_table(pa.Table.from_pylist([GOOD, GOOD | {"target": None}]), "rows.parquet")
    with pytest.raises(BadInput) as error:
        read_rows("rows.parquet", Fields())
    (finding,) = error.value.findings
    assert str(finding.place) == "rows.parquet, row 2"
    assert finding.headline == "`target` is null in row 2."
    assert facts(finding)["bad rows"] == "1 of 2: row 2"


def test_bad_rows_are_counted_and_only_the_first_are_kept() -> None:
    place = Place("rows.jsonl", line=1)
    bad = BadRows(BadRow(place, TOO_FEW_ROWS, "Bad", str(at % 2)) for at in range(10_000))
    assert len(bad) == 10_000
    assert [fault.count for fault in bad._faults.values()] == [5000, 5000]
    assert all(len(fault.numbers) == 20 for fault in bad._faults.values())


@pytest.mark.parametrize("most", [1, 3, 10])
def test_a_kind_that_shows_late_is_that_of_all_rows(
    most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rows_module, "MOST_WITHOUT_KIND", most)
    other = {"text": "a"}
    found = read(other, {"text": "b"}, [], GOOD, other, GOOD, skip=True)
    assert [row.number for row in found.rows] == [3, 5]
    assert [facts(finding)["bad rows"] for finding in found.bad] == [
        "3 of 6: lines 1, 2, 5",
        "1 of 6: line 3",
    ]
    assert refused(*[other] * 9).headline == "No row has the columns `input` and `target`."


def test_rows_are_told_of_as_they_are_read() -> None:
    told: list[int] = []
    bad = GOOD | {"target": None}
    name = write([GOOD, bad] * 1500)
    read_rows(name, skip_bad_rows=True, each=told.append)
    assert (sum(told), len(told)) == (3000, 3)


# Too few


def test_one_row_is_too_few() -> None:
    finding = refused(GOOD)
    assert (finding.rule, str(finding.place)) == ("too-few-rows", "rows.jsonl")
    assert finding.headline == "`rows.jsonl` has only 1 usable row."


def test_too_few_after_skipping_says_what_was_wrong() -> None:
    with pytest.raises(BadInput) as error:
        read(GOOD, GOOD | {"target": ""}, skip=True)
    assert [finding.rule for finding in error.value.findings] == ["too-few-rows", "empty-text"]
    assert facts(error.value.findings[0])["rows"] == "2 read, 1 of them bad"


def test_a_file_without_a_single_object_names_its_lines() -> None:
    with pytest.raises(BadInput) as error:
        read([1], [2])
    assert [finding.rule for finding in error.value.findings] == ["not-an-object", "too-few-rows"]
    assert facts(error.value.findings[0])["bad rows"] == "2 of 2: lines 1, 2"


ASK = [{"role": "user", "content": "Rain in Oslo?"}]
CALL = {"type": "function", "function": {"name": "weather", "arguments": {"city": "Oslo"}}}
RESULT = {"role": "tool", "name": "weather", "content": "dry"}
TOOLS = [{"type": "function", "function": {"name": "weather", "parameters": {}}}]


def test_prompt_and_completion() -> None:
    found = read(
        {"prompt": "The sky is", "completion": " blue."}, {"prompt": "a", "completion": "b"}
    )
    assert found.kind == "prompt-completion"
    assert found.rows[0].turns == (Turn("user", "The sky is"), Turn("assistant", " blue."))


def test_of_prompts_and_completions_in_turns_the_completion_is_learned() -> None:
    asked = [*ASK, {"role": "assistant", "content": "Today?"}, {"role": "user", "content": "Yes"}]
    row = {"prompt": asked, "completion": [{"role": "assistant", "content": "No"}]}
    found = read(row, row)
    assert found.kind == "prompt-messages"
    assert [turn.learned for turn in found.rows[0].turns] == [False, False, False, True]
    assert found.rows[0].target == "No"


@pytest.mark.parametrize(
    ("row", "rule", "said"),
    [
        ({"prompt": "x", "completion": None}, "null-value", "`completion` is null"),
        ({"prompt": ASK, "completion": ASK}, "no-assistant-turn", "does not begin with"),
        ({"prompt": ASK, "completion": []}, "empty-conversation", "`completion` is an empty list"),
        ({"prompt": [], "completion": ASK}, "empty-conversation", "`prompt` is an empty list"),
        ({"prompt": ASK, "completion": "No"}, "malformed-turn", "is not a list of turns"),
    ],
)
def test_bad_prompts_and_completions(row: dict[str, object], rule: str, said: str) -> None:
    finding = refused(row, row)
    assert (finding.rule, said in finding.headline) == (rule, True)


def calling(arguments: object = "", **more: object) -> dict[str, object]:
    call = {"type": "function", "function": {"name": "weather", "arguments": arguments}}
    asked = {"role": "assistant", "content": None, "tool_calls": [call if arguments else CALL]}
    said = {"role": "assistant", "content": "No."}
    return {"messages": [*ASK, asked, RESULT, said], "tools": TOOLS, **more}


def test_calls_of_tools_and_their_results() -> None:
    as_openai = calling('{"city": "Oslo"}', tools=json.dumps(TOOLS))
    first, second = read(calling(), as_openai).rows
    assert first.turns == second.turns
    assert first.tools == second.tools == json.dumps(TOOLS)
    asked, called, answered, _ = first.turns
    assert (asked.more, answered.role, answered.text) == ("", "tool", "dry")
    assert called.text == '{"name": "weather", "arguments": {"city": "Oslo"}}'
    assert json.loads(called.more) == {"content": "", "tool_calls": [CALL]}
    assert json.loads(answered.more) == {"name": "weather"}


@pytest.mark.parametrize(
    ("row", "field"),
    [
        (calling("{"), "messages.tool_calls"),
        (calling([1]), "messages.tool_calls"),
        (calling(tools="{"), "tools"),
        (calling(tools=[{"type": "function"}]), "tools"),
    ],
)
def test_malformed_tools_are_named(row: dict[str, object], field: str) -> None:
    finding = refused(row, calling())
    assert finding.rule == "malformed-tool"
    assert f"`{field}`" in finding.headline
    assert "line 1" in finding.headline


def test_nulls_that_arrow_adds_are_no_arguments() -> None:
    datasets = pytest.importorskip("datasets")
    other = {"type": "function", "function": {"name": "time", "arguments": {"zone": "CET"}}}
    turn = {"role": "assistant", "content": "", "tool_calls": [other]}
    rows = [calling(), {"messages": [*ASK, turn], "tools": TOOLS}]
    datasets.Dataset.from_list(rows).save_to_disk("saved")
    first, second = read_rows("saved").rows
    assert json.loads(first.turns[1].more)["tool_calls"][0]["function"] == CALL["function"]
    assert json.loads(second.turns[1].more)["tool_calls"][0]["function"] == other["function"]


@pytest.mark.parametrize(
    ("label", "text"), [(1, "1"), (1.0, "1.0"), (0.5, "0.5"), (-3, "-3"), (10**20, str(10**20))]
)
def test_numbers_are_text_where_that_is_asked_for(label: float, text: str) -> None:
    row = {"input": "x", "target": label}
    found = read(row, row, fields=Fields(numbers_as_text=True))
    assert found.rows[0].target == text
    refusal = refused(row, row)
    assert refusal.rule == "not-text"
    assert f"`{text}`:  --numbers-as-text" in refusal.fixes[0].text


@pytest.mark.parametrize("label", [True, None, [1], "NaN"])
def test_what_is_no_number_is_never_made_text(label: object) -> None:
    value = float("nan") if label == "NaN" else label
    row = {"input": "x", "target": value}
    finding = refused(row, row, fields=Fields(numbers_as_text=True))
    assert finding.rule in ("not-text", "null-value")
