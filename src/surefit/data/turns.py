"""Kinds of row: what their columns are called, and how they become turns."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from numbers import Integral, Real
from typing import Literal, TypeAlias

from surefit.did_you_mean import nearest
from surefit.doctor.findings import Fact, Fix, Place
from surefit.doctor.rule import refusal

from .bad_rows import BadRow, shown
from .raw import RawRow
from .tool_calls import as_text, calls_of, more_of_call, more_of_result

MISSING_COLUMN = refusal(
    "SF120",
    "missing-column",
    "The prompt and the answer are read from two columns, which `--input-field` and "
    "`--target-field` name.",
)
NULL_VALUE = refusal("SF121", "null-value", "A null cannot be read or learned.")
NOT_TEXT = refusal(
    "SF122",
    "not-text",
    "Prompts and answers are text. A number is not made into text unasked (`--numbers-as-text`): "
    "1.0 and 1 would differ.",
)
EMPTY_TEXT = refusal(
    "SF123",
    "empty-text",
    "An empty prompt asks nothing; an empty answer would teach the model to stop at once.",
)
EMPTY_CONVERSATION = refusal("SF124", "empty-conversation", "A conversation has at least one turn.")
MALFORMED_TURN = refusal(
    "SF125",
    "malformed-turn",
    "A turn is an object: `role` and `content` in `messages`, `from` and `value` in "
    "`conversations`.",
)
UNKNOWN_ROLE = refusal(
    "SF126", "unknown-role", "A turn is the system's, the user's, the assistant's or a tool's."
)
NO_ASSISTANT_TURN = refusal(
    "SF127", "no-assistant-turn", "The loss sees the assistant's turns; without one there is none."
)
UNANSWERED_TURN = refusal(
    "SF128",
    "unanswered-turn",
    "A conversation must end with a turn of the assistant; a question after it would not be used.",
)
UNASKED_ANSWER = refusal(
    "SF129", "unasked-answer", "An answer is learned as the answer to something."
)

Role = Literal["system", "user", "assistant", "tool"]
Kind = Literal[
    "prompt-answer",
    "messages",
    "sharegpt",
    "alpaca",
    "prompt-completion",
    "prompt-messages",
    "text",
]
CONVERSATIONS: frozenset[str] = frozenset({"messages", "sharegpt", "prompt-messages"})


@dataclass(frozen=True, slots=True)
class Turn:
    """What one side of a conversation says."""

    role: Role
    text: str
    learned: bool = True
    """Of an assistant's turn: whether the loss sees it. Those of a prompt are only read."""

    more: str = ""
    """What a chat template reads of it beside the text, as JSON: calls of tools and the content
    before them, or the tool whose result it is."""


@dataclass(frozen=True, slots=True)
class Fields:
    """The columns that hold the prompt and the answer."""

    input: str = "input"
    target: str = "target"
    text: str | None = None
    """The column of plain texts, where rows without prompt and answer are taken, too."""

    numbers_as_text: bool = False
    """Whether a number in these columns is read as the text that Python prints for it."""

    @property
    def chosen(self) -> bool:
        """Whether the user named the prompt's column or the answer's."""
        return (self.input, self.target) != ("input", "target")


@dataclass(frozen=True, slots=True)
class TurnKeys:
    """How one kind of conversation writes its turns."""

    column: str
    role: str
    text: str
    roles: Mapping[str, Role]


Turns: TypeAlias = tuple[Turn, ...]

MESSAGES = TurnKeys(
    "messages",
    "role",
    "content",
    {"system": "system", "user": "user", "assistant": "assistant", "tool": "tool"},
)
PROMPT, COMPLETION = replace(MESSAGES, column="prompt"), replace(MESSAGES, column="completion")
SHAREGPT = TurnKeys(
    "conversations",
    "from",
    "value",
    {"system": "system", "human": "user", "gpt": "assistant"},
)
TYPES = {
    bool: "true or false",
    int: "a number",
    float: "a number",
    list: "a list",
    dict: "an object",
}


def kind_of(columns: Mapping[str, object], fields: Fields) -> Kind | None:
    """Field names that the user chose win over every kind that is known by its columns."""
    if {fields.input, fields.target} <= set(columns):
        return "prompt-answer"
    if fields.chosen:
        return "text" if fields.text in columns else None
    if MESSAGES.column in columns:
        return "messages"
    if SHAREGPT.column in columns:
        return "sharegpt"
    if {"instruction", "output"} <= set(columns):
        return "alpaca"
    if {"prompt", "completion"} <= set(columns):
        return "prompt-messages" if isinstance(columns["prompt"], list) else "prompt-completion"
    return "text" if fields.text in columns else None


def turns_of(row: RawRow, kind: Kind, fields: Fields) -> Turns | BadRow:
    match kind:
        case "prompt-answer":
            return _pair(row, fields.input, fields.target, fields)
        case "messages":
            return _conversation(row, MESSAGES)
        case "sharegpt":
            return _conversation(row, SHAREGPT)
        case "alpaca":
            return _alpaca(row, fields)
        case "prompt-completion":
            return _pair(row, "prompt", "completion", fields)
        case "prompt-messages":
            return _prompt_and_completion(row)
        case "text":
            return _plain_text(row, fields.text or "")


def missing_column(row: RawRow, column: str) -> BadRow:
    near = nearest(column, row.values)
    return BadRow(
        row.place,
        MISSING_COLUMN,
        f"The column `{column}` is missing",
        field=column,
        facts=(Fact("columns", ", ".join(row.values) or "none"),),
        fixes=(Fix(f"Write `{column}` for `{near}`."),) if near else (),
    )


def _pair(row: RawRow, asks: str, answers: str, fields: Fields) -> Turns | BadRow:
    question, answer = _column(row, asks, fields), _column(row, answers, fields)
    if isinstance(question, BadRow):
        return question
    return answer if isinstance(answer, BadRow) else _asked(question, answer)


def _alpaca(row: RawRow, fields: Fields) -> Turns | BadRow:
    """The optional `input` follows the instruction after a blank line."""
    context = row.values.get("input")
    if context is None or context == "":
        return _pair(row, "instruction", "output", fields)
    instruction, answer, more = (
        _column(row, column, fields) for column in ("instruction", "output", "input")
    )
    for cell in (instruction, more, answer):
        if isinstance(cell, BadRow):
            return cell
    return _asked(f"{instruction}\n\n{more}", str(answer))


def _plain_text(row: RawRow, column: str) -> Turns | BadRow:
    """As a prompt without an answer, so that nearly equal texts are found to be twins."""
    text = _column(row, column, Fields())
    return text if isinstance(text, BadRow) else _asked(text, "")


def _asked(question: str, answer: str) -> Turns:
    return Turn("user", question), Turn("assistant", answer)


def _column(row: RawRow, column: str, fields: Fields) -> str | BadRow:
    if column not in row.values:
        return missing_column(row, column)
    value = row.values[column]
    if _is_number(value):
        if fields.numbers_as_text:
            return _as_printed(value)
        as_text = Fix(
            f"Read numbers as text, this one as `{_as_printed(value)}`:  --numbers-as-text"
        )
        bad = _text(value, row.place, column)
        return replace(bad, fixes=(as_text,)) if isinstance(bad, BadRow) else bad
    return _text(value, row.place, column)


def _is_number(value: object) -> bool:
    """NaN and infinity are none: no text of them is an answer."""
    return isinstance(value, Real) and not isinstance(value, bool) and math.isfinite(value)


def _as_printed(value: object) -> str:
    """`1` and `1.0` stay different; NumPy's numbers are printed as Python's."""
    assert isinstance(value, Real)
    return str(int(value) if isinstance(value, Integral) else float(value))


def _text(value: object, place: Place, field: str, turn: int | None = None) -> str | BadRow:
    where = () if turn is None else (Fact("turn", str(turn)),)
    if value is None:
        return BadRow(place, NULL_VALUE, f"`{field}` is null", field, where)
    if not isinstance(value, str):
        kind = TYPES.get(type(value), f"a value of type `{type(value).__name__}`")
        facts = (*where, Fact(f"`{field}`", f"{kind}: {shown(value)}"))
        return BadRow(place, NOT_TEXT, f"`{field}` is not text", field, facts)
    if not value.strip():
        seen = Fact(f"`{field}`", f"{len(value)} characters, none but white space")
        facts = (*where, seen) if value else where
        return BadRow(place, EMPTY_TEXT, f"`{field}` is empty", field, facts)
    return value


def _conversation(row: RawRow, keys: TurnKeys) -> Turns | BadRow:
    if keys.column not in row.values:
        return missing_column(row, keys.column)
    turns = _turns(row, keys)
    return turns if isinstance(turns, BadRow) else _whole(turns, row.place, keys)


def _prompt_and_completion(row: RawRow) -> Turns | BadRow:
    """The loss sees the completion's turns alone, as TRL has it."""
    asked = _turns(row, PROMPT)
    if isinstance(asked, BadRow):
        return asked
    answered = _turns(row, COMPLETION) if "completion" in row.values else None
    if answered is None:
        return missing_column(row, "completion")
    if isinstance(answered, BadRow):
        return answered
    if not asked:
        return BadRow(row.place, EMPTY_CONVERSATION, "`prompt` is an empty list", "prompt")
    turns = (*(replace(turn, learned=False) for turn in asked), *answered)
    if answered and answered[0].role != "assistant":
        roles = Fact("turns", ", ".join(turn.role for turn in answered))
        said = "`completion` does not begin with the assistant's turn"
        return BadRow(row.place, NO_ASSISTANT_TURN, said, "completion", (roles,))
    return _whole(turns if answered else (), row.place, COMPLETION)


def _turns(row: RawRow, keys: TurnKeys) -> Turns | BadRow:
    given = row.values.get(keys.column)
    if given is None:
        return BadRow(row.place, NULL_VALUE, f"`{keys.column}` is null", keys.column)
    if not isinstance(given, list):
        return _malformed(row.place, keys, "is not a list of turns", given)
    turns = []
    for number, value in enumerate(given, start=1):
        turn = _turn(value, row.place, keys, number)
        if isinstance(turn, BadRow):
            return turn
        turns.append(turn)
    return tuple(turns)


def _turn(value: object, place: Place, keys: TurnKeys, number: int) -> Turn | BadRow:
    if not isinstance(value, dict):
        return _malformed(place, keys, "holds a turn that is not an object", value, number)
    calls = calls_of(value, place, keys.column)
    if isinstance(calls, BadRow):
        return calls
    if not ({keys.role} if calls else {keys.role, keys.text}) <= set(value):
        said = f"holds a turn without `{keys.role}` or `{keys.text}`"
        return _malformed(place, keys, said, value, number)
    role = value[keys.role]
    if not isinstance(role, str) or role not in keys.roles:
        return _unknown_role(role, place, keys, number)
    field = f"{keys.column}.{keys.text}"
    content = value.get(keys.text)
    if calls and keys.roles[role] == "assistant":
        if content is None or content == "":
            return Turn("assistant", as_text("", calls), more=more_of_call("", calls))
        text = _text(content, place, field, number)
        if isinstance(text, BadRow):
            return text
        return Turn("assistant", as_text(text, calls), more=more_of_call(text, calls))
    if keys.roles[role] == "tool" and content == "":  # a tool that had nothing to say
        return Turn("tool", "", more=more_of_result(value))
    text = _text(content, place, field, number)
    if isinstance(text, BadRow):
        return text
    more = more_of_result(value) if keys.roles[role] == "tool" else ""
    return Turn(keys.roles[role], text, more=more)


def _whole(turns: Turns, place: Place, keys: TurnKeys) -> Turns | BadRow:
    """The turns, unless they are no conversation that can be learned from."""
    column = f"`{keys.column}`"
    roles = Fact("turns", ", ".join(turn.role for turn in turns))
    if not turns:
        return BadRow(place, EMPTY_CONVERSATION, f"{column} is an empty list", keys.column)
    if all(turn.role != "assistant" for turn in turns):
        said = f"{column} has no turn of the assistant"
        return BadRow(place, NO_ASSISTANT_TURN, said, keys.column, (roles,))
    if turns[-1].role != "assistant":
        said = f"{column} ends with a turn that has no assistant answer"
        return BadRow(place, UNANSWERED_TURN, said, keys.column, (roles,))
    if len(turns) == 1:
        said = f"{column} has nothing before the assistant's turn"
        return BadRow(place, UNASKED_ANSWER, said, keys.column, (roles,))
    return turns


def _malformed(
    place: Place, keys: TurnKeys, said: str, value: object, number: int | None = None
) -> BadRow:
    where = () if number is None else (Fact("turn", str(number)),)
    return BadRow(
        place,
        MALFORMED_TURN,
        f"`{keys.column}` {said}",
        field=keys.column,
        facts=(*where, Fact("value", shown(value))),
    )


def _unknown_role(role: object, place: Place, keys: TurnKeys, number: int) -> BadRow:
    near = nearest(role, keys.roles) if isinstance(role, str) else None
    return BadRow(
        place,
        UNKNOWN_ROLE,
        f"`{keys.column}` holds a turn of an unknown role",
        field=f"{keys.column}.{keys.role}",
        facts=(
            Fact("turn", str(number)),
            Fact(f"`{keys.role}`", shown(role)),
            Fact("known", ", ".join(keys.roles)),
        ),
        fixes=(Fix(f"Write `{near}` for `{role}`."),) if near else (),
    )
