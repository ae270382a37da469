"""A file of the user's as it lies on the disk, and what an edit makes of it."""

import io
import tokenize
from dataclasses import dataclass
from pathlib import Path

from surefit.source.patches import Edit, as_diff, difference, patched

BYTE_ORDER_MARK = "\ufeff"


@dataclass(frozen=True, slots=True)
class Patched:
    """A file after an edit: its bytes, and its text as Python reads it."""

    content: bytes
    text: str


@dataclass(frozen=True, slots=True)
class OwnFile:
    """Its text, and how it is written; `\\n` ends lines, unless several things do."""

    text: str
    encoding: str
    newline: str

    @classmethod
    def read(cls, path: Path) -> "OwnFile":
        raw = path.read_bytes()
        encoding, _ = tokenize.detect_encoding(io.BytesIO(raw).readline)
        text = raw.decode(encoding)
        both, either = text.count("\r\n"), {text.count("\r"), text.count("\n")}
        newline = "\r\n" if both and either == {both} else "\n"
        return cls(text.replace("\r\n", "\n") if newline == "\r\n" else text, encoding, newline)

    def patched(self, edit: Edit) -> Patched:
        text = patched(edit, self.text)
        return Patched(self.written(text).encode(self.encoding), read_by_python(text))

    def as_diff(self, edit: Edit) -> str:
        """Against the file as it is, so that `git apply` and `patch -p1` take it; `ValueError`
        where the edit changes nothing or leaves no Python."""
        plain = as_diff(edit, self.text)
        marked = self.encoding == "utf-8-sig"
        if self.newline == "\n" and not marked:
            return plain
        mark = BYTE_ORDER_MARK if marked else ""
        after = patched(edit, self.text)
        return difference(edit.file, mark + self.written(self.text), mark + self.written(after))

    def written(self, text: str) -> str:
        return text.replace("\n", self.newline)


def read_by_python(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")
