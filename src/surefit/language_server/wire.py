"""Messages of the protocol on two streams: a header with the length, then JSON."""

from typing import Any, BinaryIO

import msgspec

Message = dict[str, Any]

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INTERNAL_ERROR = -32603


class NotAMessage(ValueError):  # noqa: N818 - it reads as what it is
    """A body that is no JSON object; what comes after it can still be read."""


def read_message(stream: BinaryIO) -> Message | None:
    """The next message; None at the end of the stream."""
    length = read_length(stream)
    body = stream.read(length) if length is not None else b""
    if length is None or len(body) < length:
        return None
    try:
        return msgspec.json.decode(body, type=Message)
    except msgspec.DecodeError as error:
        raise NotAMessage(str(error)) from error


def read_length(stream: BinaryIO) -> int | None:
    length = None
    while (line := stream.readline()).strip():
        name, _, value = line.decode("ascii", "replace").partition(":")
        if name.strip().lower() == "content-length" and value.strip().isdecimal():
            length = int(value)
    return length if line else None


def write_message(stream: BinaryIO, message: Message) -> None:
    body = msgspec.json.encode({"jsonrpc": "2.0", **message})
    stream.write(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))
    stream.flush()
