"""Tools of a row and calls of them, in the one form that chat templates read."""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from surefit.doctor.findings import Fact, Place
from surefit.doctor.rule import refusal

from .bad_rows import BadRow, shown
from .raw import RawRow

MALFORMED_TOOL = refusal(
    "SF137",
    "malformed-tool",
    "Tools are a list of JSON schemas in the column `tools`; a call is an object with the "
    "function's `name` and its `arguments`.",
)

CALLS = "tool_calls"
OF_A_RESULT = ("name", "tool_call_id")
"""Keys of a tool's turn that templates read beside its content."""


def tools_of(row: RawRow) -> str | BadRow:
    """The row's tools as JSON, or nothing; a text is read as JSON, as TRL stores them."""
    value = row.values.get("tools")
    if isinstance(value, str) and value.strip():
        try:
            value = json.loads(value)
        except ValueError as error:
            return _malformed(row.place, "tools", "is no JSON", value, python_said=str(error))
    if value is None or value == [] or value == "":
        return ""
    if not isinstance(value, list) or not all(_named(tool) for tool in value):
        return _malformed(row.place, "tools", "is not a list of schemas with names", value)
    return _json(value)


def calls_of(message: Mapping[str, object], place: Place, column: str) -> list[Any] | BadRow:
    """The calls of an assistant's turn, arguments as objects; empty where there are none."""
    calls = message.get(CALLS)
    if not calls:
        return []
    if not isinstance(calls, list):
        return _malformed(place, f"{column}.{CALLS}", "is not a list of calls", calls)
    settled: list[Any] = []
    for call in calls:
        function = _function(call)
        arguments = _arguments(function)
        if function is None or arguments is None:
            said = "holds a call without a name and arguments that are an object"
            return _malformed(place, f"{column}.{CALLS}", said, call)
        more = {"id": call["id"]} if call.get("id") else {}
        named = {"name": function["name"], "arguments": arguments}
        settled.append({**more, "type": "function", "function": named})
    return settled


def as_text(content: str, calls: Sequence[Any]) -> str:
    """What a turn with calls says, for people and to find its twins: a line for each call."""
    lines = [_json(call["function"]) for call in calls]
    return "\n".join([content, *lines] if content else lines)


def more_of_call(content: str, calls: Sequence[Any]) -> str:
    return _json({"content": content, CALLS: list(calls)})


def more_of_result(message: Mapping[str, object]) -> str:
    more = {key: message[key] for key in OF_A_RESULT if message.get(key) is not None}
    return _json(more) if more else ""


def called(more: str) -> list[str]:
    """The names of the functions that a turn calls."""
    calls = json.loads(more).get(CALLS, ()) if more else ()
    return [str(call["function"]["name"]) for call in calls]


def names_of(tools: str) -> list[str]:
    return [str(_named(tool)) for tool in json.loads(tools)] if tools else []


def without_padding(values: dict[str, Any]) -> dict[str, Any]:
    """Arrow gives every tool and call of a column all keys that any of them has, as nulls: the
    keys that are null are taken out of tools and calls."""
    found = dict(values)
    if isinstance(found.get("tools"), list):
        found["tools"] = _full(found["tools"])
    for column in ("messages", "prompt", "completion"):
        if isinstance(found.get(column), list):
            found[column] = [_full_calls(turn) for turn in found[column]]
    return found


def _full_calls(turn: Any) -> Any:
    if not isinstance(turn, dict) or turn.get(CALLS) is None:
        return turn
    return {**turn, CALLS: _full(turn[CALLS])}


def _full(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _full(inner) for key, inner in value.items() if inner is not None}
    return [_full(inner) for inner in value] if isinstance(value, list) else value


def _named(tool: object) -> str | None:
    function = _function(tool)
    return None if function is None else str(function["name"])


def _function(value: object) -> Mapping[str, Any] | None:
    """Of `{"type": "function", "function": {...}}`, or of what stands inside it."""
    if not isinstance(value, dict):
        return None
    function = value.get("function", value)
    if not isinstance(function, dict) or not isinstance(function.get("name"), str):
        return None
    return function


def _arguments(function: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """OpenAI writes them as a text that holds an object; templates want the object."""
    given = {} if function is None else function.get("arguments", {})
    if isinstance(given, str):
        try:
            given = json.loads(given)
        except ValueError:
            return None
    return given if isinstance(given, dict) else None


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def _malformed(place: Place, field: str, said: str, value: object, python_said: str = "") -> BadRow:
    facts: Iterable[Fact] = (Fact("value", shown(value)),)
    return BadRow(
        place, MALFORMED_TOOL, f"`{field}` {said}", field, tuple(facts), python_said=python_said
    )
