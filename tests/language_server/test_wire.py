"""Messages on a stream, and what a server answers to those that make no sense."""

import json
from io import BytesIO
from typing import Any

import pytest

from surefit.language_server.server import EditorServer
from surefit.language_server.wire import NotAMessage, read_message, write_message


def framed(body: str) -> bytes:
    return b"Content-Length: %d\r\nContent-Type: x\r\n\r\n%b" % (len(body), body.encode())


def test_what_is_written_is_read() -> None:
    stream = BytesIO()
    write_message(stream, {"id": 1, "result": "ü"})
    write_message(stream, {"method": "exit"})
    stream.seek(0)
    assert read_message(stream) == {"jsonrpc": "2.0", "id": 1, "result": "ü"}
    assert read_message(stream) == {"jsonrpc": "2.0", "method": "exit"}
    assert read_message(stream) is None


@pytest.mark.parametrize("raw", [b"", b"Content-Length: 9\r\n\r\n{}", b"odd\r\n\r\n{}"])
def test_a_stream_that_breaks_off_has_ended(raw: bytes) -> None:
    assert read_message(BytesIO(raw)) is None


def test_a_body_that_is_no_message_does_not_hide_the_next() -> None:
    stream = BytesIO(framed("[1]") + framed('{"id": 2}'))
    with pytest.raises(NotAMessage):
        read_message(stream)
    assert read_message(stream) == {"id": 2}


def answers(*messages: dict[str, Any] | str) -> tuple[int, list[Any]]:
    """The exit code, and all that the server writes."""
    bodies = [it if isinstance(it, str) else json.dumps(it) for it in messages]
    outgoing = BytesIO()
    code = EditorServer(BytesIO(b"".join(map(framed, bodies))), outgoing).serve()
    outgoing.seek(0)
    told = []
    while (message := read_message(outgoing)) is not None:
        told.append(message)
    return code, told


def asked(method: str, number: int = 1, **params: Any) -> dict[str, Any]:
    return {"id": number, "method": method, "params": params}


def test_requests_at_the_wrong_time_and_of_the_wrong_form() -> None:
    code, told = answers(
        asked("textDocument/hover"),
        asked("initialize", rootUri=None),
        asked("initialize"),
        "{",
        asked("textDocument/hover"),
        {"method": "textDocument/didChange", "params": {}},
        {"method": "$/setTrace", "params": {}},
        {"id": 7, "result": None},
        asked("shutdown", 8),
        asked("textDocument/hover", 9),
        {"method": "exit"},
    )
    assert code == 0
    errors = [(it.get("error") or {}).get("code") for it in told]
    assert errors == [-32600, None, -32600, -32700, -32603, None, None, -32600]
    assert told[5]["method"] == "window/logMessage"
    assert told[6] == {"jsonrpc": "2.0", "id": 8, "result": None}


def test_an_editor_that_goes_without_a_word() -> None:
    assert answers(asked("initialize"))[0] == 1
    assert answers(asked("initialize"), {"method": "exit"})[0] == 1
