"""Text that must be UTF-8, and what can be said about bytes that are not."""

import codecs

from surefit.doctor.findings import Fact, Fix, Place
from surefit.doctor.rule import refusal
from surefit.errors import BadInput

from .bad_rows import BadRow, shown

NOT_UTF8 = refusal(
    "SF104",
    "not-utf-8",
    "Rows are read as UTF-8. A row with invalid bytes is rejected: guessing another encoding "
    "would silently train on wrong characters.",
)

# UTF-32 comes first: its little-endian mark begins with that of UTF-16.
MARKS = {
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}


def refuse_other_marks(head: bytes, name: str) -> None:
    """Raises for a file that begins with the mark of UTF-16 or UTF-32."""
    for mark, encoding in MARKS.items():
        if head.startswith(mark):
            raise BadInput(
                NOT_UTF8.finding(
                    Place(name, line=1),
                    f"`{name}` is not UTF-8: it begins with the mark of {encoding.upper()}.",
                    facts=(Fact("first bytes", mark.hex(" ")),),
                    fixes=(_convert(encoding, name),),
                )
            )


def decoded(line: bytes, place: Place, offset: int) -> str | BadRow:
    """The line as text; `offset` is where in the file it begins, in bytes."""
    try:
        return line.decode("utf-8")
    except UnicodeDecodeError as error:
        return _not_utf8(error, line, place, offset)


def _not_utf8(error: UnicodeDecodeError, line: bytes, place: Place, offset: int) -> BadRow:
    at = error.start
    reading = _reading(line, at)
    return BadRow(
        place,
        NOT_UTF8,
        "The text is not UTF-8",
        facts=(
            Fact(
                "byte",
                f"0x{line[at]:02x}, byte {at + 1} of the line, {offset + at + 1} of the file",
            ),
            Fact("text before it", shown(line[:at].decode("utf-8")[-30:])),
            *([Fact(f"read as {reading[0]}", shown(reading[1]))] if reading else []),
        ),
        fixes=(_convert(reading[0], place.file),) if reading else (),
        python_said=f"UnicodeDecodeError: {error.reason}",
    )


def _reading(line: bytes, at: int) -> tuple[str, str] | None:
    """An encoding in which the line is printable text, and the words around the byte in it."""
    for encoding in ("cp1252", "latin-1"):
        try:
            text = line.rstrip(b"\r\n").decode(encoding)
        except UnicodeDecodeError:
            continue
        if text.replace("\t", " ").isprintable():
            return encoding, text[max(0, at - 20) : at + 20]
    return None


def _convert(encoding: str, name: str) -> Fix:
    return Fix(
        f"If it was written as {encoding}, save it as UTF-8: "
        f"`iconv -f {encoding} -t utf-8 {name} > utf8-copy`."
    )
