"""A file that was being read whole when memory ran out."""

import ast
from dataclasses import dataclass

from surefit.doctor.observations import Crash, Frame, Question
from surefit.doctor.recording import Recording
from surefit.source.reading import Source, called

READS = {
    "numpy": ("load", "loadtxt", "genfromtxt", "fromfile"),
    "torch": ("load",),
    "pandas": ("read_csv", "read_parquet", "read_json", "read_pickle", "read_feather"),
    "safetensors": ("load_file",),
}
"""Libraries, and their functions that read a whole file."""


@dataclass(frozen=True, slots=True)
class WholeFile:
    """The file, the function that read it, and its call in the user's source."""

    file: str
    bytes: int
    library: str
    function: str
    shape: tuple[int, ...]
    dtype: str
    frame: Frame
    source: Source | None
    call: ast.Call | None

    @property
    def written(self) -> str:
        """`np.load`, as the user's line has it."""
        if self.source is None or self.call is None:
            return f"{self.library}.{self.function}"
        return self.source.segment(self.call.func)

    @property
    def given(self) -> str:
        """What the call was given for the file."""
        if self.source is None or self.call is None or not self.call.args:
            return "path"
        return self.source.segment(self.call.args[0])


def whole_file(crash: Crash, seen: Recording) -> WholeFile | None:
    """Of the outermost function below the user's own line, if it reads files."""
    found = reading_frame(crash)
    if found is None or crash.own_frame is None:
        return None
    library, function = found
    said = seen.ask(Question("file-read", crash.id, {"function": function}))
    if not said or not isinstance(said.get("bytes"), int):
        return None
    frame = crash.own_frame
    source = seen.source(frame.place)
    return WholeFile(
        str(said["file"]),
        int(said["bytes"]),
        library,
        function,
        tuple(said.get("shape") or ()),
        str(said.get("dtype") or ""),
        frame,
        source,
        call_at(source, frame, function) if source else None,
    )


def reading_frame(crash: Crash) -> tuple[str, str] | None:
    frames = list(crash.frames)
    own = max((at for at, one in enumerate(frames) if one.own), default=-1)
    for frame in frames[own + 1 :]:
        library = frame.place.file.replace("\\", "/").partition("/")[0]
        if frame.function in READS.get(library, ()):
            return library, frame.function
    return None


def call_at(source: Source, frame: Frame, function: str) -> ast.Call | None:
    line = frame.place.line or 0
    found = [one for one in source.calls_in(line) if called(one) == function]
    return found[0] if len(found) == 1 else None
