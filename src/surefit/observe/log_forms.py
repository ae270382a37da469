"""One traceback in each form that there is: Python's, IPython's, rich's boxes, faulthandler's."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from surefit.doctor.tracebacks import Raised, TracebackFrame

HEADER = re.compile(r"Traceback \(most recent call last\)")
SAID = re.compile(r"^(?:[A-Za-z_][\w<>]*\.)*[A-Za-z_]\w*(?::|$)")
FRAME = re.compile(
    r'^(?P<indent> *)File "(?P<file>.+?)", line (?P<line>\d+)(?:, in (?P<function>.*))?$'
)
ENDS_A_MESSAGE = re.compile(
    r"^\s*$|Traceback \(most recent call last\)|^\"\"\"$|^\d{4}-\d\d-\d\d|^[WEI]\d{4} |^\[\w+\]"
    r"|^\d+%\|"
    r"|^(?:The above exception was|During handling of the above)|^-{20}|^={20}|^\w+:\w+:"
)
"""A message has as many lines as it likes; these are of something else."""
MOST_LINES = 400
"""After a header in which its exception must come."""

MOST_DIGITS = 9
"""Of the number of a line."""

IPYTHON = re.compile(r"^(?P<kind>[\w.]+) {2,}Traceback \(most recent call last\)")
CELL = r"(?P<file>(?:Cell |Input )In ?\[\d+\])"
IPYTHON_FRAMES = tuple(
    re.compile(pattern)
    for pattern in (
        rf"^{CELL}, line (?P<line>\d+)(?:, in (?P<function>.+))?",
        rf"^{CELL}, in (?P<function>.+)",
        r"^File (?P<file>\S.*?):(?P<line>\d+)(?:, in (?P<function>.+))?$",
        r"^(?P<file><ipython-input-[\w-]+>|[~/.]\S*\.py|[A-Za-z]:\\\S+\.py) in (?P<function>.+)",
    )
)
ARROW = re.compile(r"^-*> ?(?P<line>\d+) ?(?P<source>.*)")

RICH = re.compile(r"^╭─+ Traceback \(most recent call last\)")
RICH_FRAME = re.compile(r"^│ (?P<file>\S.*?):(?P<line>\d+) in (?P<function>\S.*?)\s*│?$")
RICH_ARROW = re.compile(r"^│ ❱ +\d+ [│ ]*(?P<source>.*?)\s*│?$")

FATAL = re.compile(
    r"^(?:\S+: )?(?:line \d+: )?(?:\[\d+\][+-]?)?\s*(?:\d+\s+)?(?P<said>"
    r"(?:Fatal Python error: )?(?:Segmentation fault|Bus error|Floating point exception"
    r"|Illegal instruction|Aborted|Killed)\b"
    r"|.*Signal \d+ \(SIG[A-Z]+\) received by PID \d+|.*Out of memory: Killed process \d+)"
)
FATAL_THREAD = re.compile(r"^Current thread 0x\w+.*\(most recent call first\)")
FATAL_FRAME = re.compile(r'^  File "(?P<file>.+?)", line (?P<line>\d+) in (?P<function>.*)$')

Numbered = tuple[int, str]


@dataclass(slots=True)
class Block:
    """A traceback that is being read: where its lines end, and what it holds so far."""

    end: int
    said: str = ""
    frames: list[TracebackFrame] = field(default_factory=list)

    @property
    def raised(self) -> Raised:
        return Raised(self.said, tuple(self.frames))


def block_at(lines: Sequence[str], at: int) -> Block | None:
    """The traceback whose header is on this line, if it is one."""
    line = lines[at]
    if RICH.match(line):
        return boxed(lines, at)
    if found := IPYTHON.match(line):
        return of_ipython(lines, at, found["kind"])
    if HEADER.search(line) and "Exception Group" not in line:
        return of_python(lines, at)
    return unparsed(lines, at)


def of_python(lines: Sequence[str], at: int) -> Block | None:
    """What stands before the header stands before every line of it: a rank, a time, a margin.

    Lines that lack it are another rank's; numbers in it differ where they are times.
    """
    match = HEADER.search(lines[at])
    assert match is not None
    prefix = lines[at][: match.start()].removesuffix("Original ")
    numbered = list(enumerate(lines[at + 1 : at + 1 + MOST_LINES], start=at + 1))
    exact = re.escape(prefix.rstrip())
    patterns = [exact, re.sub(r"\d+", r"\\d+", exact)] if prefix.strip() else []
    margin = len(prefix) - len(prefix.rstrip())
    ways = [list(without_prefix(numbered, pattern, margin)) for pattern in patterns]
    found = [block for way in [*ways, numbered] if (block := read_block(Block(at + 1), way))]
    return next((block for block in found if block.said), found[0] if found else None)


def without_prefix(lines: Sequence[Numbered], pattern: str, margin: int) -> Iterator[Numbered]:
    for number, line in lines:
        if found := re.match(pattern, line):
            yield number, line[found.end() + margin :]


def read_block(block: Block, lines: Sequence[Numbered]) -> Block | None:
    """Frames, then the exception at the margin from which they are indented."""
    base = -1
    for place, (number, line) in enumerate(lines):
        block.end = number
        if found := FRAME.match(line):
            base = len(found["indent"]) - 2 if base < 0 else base
            block.frames.append(framed(found))
        elif base < 0 or not line.strip():
            break
        elif indent_of(line) > base:
            add_source(block, line)
        elif SAID.match(line.strip()):
            take_message(block, [(n, text[base:]) for n, text in lines[place:]])
            break
        elif not line.lstrip().startswith("[Previous line repeated"):
            break
    return block if block.frames else None


def framed(found: re.Match[str], line: int | None = None) -> TracebackFrame:
    parts = found.groupdict()
    number = line_number(parts["line"]) if parts.get("line") else line
    function = (parts.get("function") or "").partition("(")[0].strip()
    if function.startswith("<cell line"):
        function = "<module>"
    return TracebackFrame(parts["file"], number, function)


def line_number(digits: str) -> int | None:
    """None for a number that no file has so many lines for."""
    return int(digits) if len(digits) <= MOST_DIGITS else None


def add_source(block: Block, line: str) -> None:
    """The line beneath a frame; marks under it, and further lines, are not needed."""
    text = line.strip()
    if not block.frames[-1].source and text.strip("~^ "):
        block.frames[-1] = replace(block.frames[-1], source=text)


def take_message(block: Block, lines: Sequence[Numbered]) -> None:
    said: list[str] = []
    for number, line in lines:
        if said and ENDS_A_MESSAGE.search(line):
            break
        said.append(line)
        block.end = number + 1
    block.said = "\n".join(said).strip()


def indent_of(line: str) -> int:
    return len(line) - len(line.lstrip(" "))


def unparsed(lines: Sequence[str], at: int) -> Block | None:
    """What Python cannot read has no header: a file, a line, a mark, and `SyntaxError`."""
    found = FRAME.match(lines[at])
    if not found or found["function"]:
        return None
    block = read_block(Block(at), list(enumerate(lines[at : at + 6], start=at)))
    kinds = ("SyntaxError", "IndentationError", "TabError")
    return block if block and block.said.startswith(kinds) else None


def of_ipython(lines: Sequence[str], at: int, kind: str) -> Block | None:
    """Frames apart by blank lines, an arrow at the line of each, and the exception at the end."""
    block = Block(at + 1)
    numbered = list(enumerate(lines[at + 1 : at + 1 + MOST_LINES], start=at + 1))
    for place, (number, line) in enumerate(numbered):
        block.end = number
        if found := next((one for one in (p.match(line) for p in IPYTHON_FRAMES) if one), None):
            block.frames.append(framed(found))
        elif block.frames and (arrow := ARROW.match(line)):
            at_arrow = replace(block.frames[-1], source=arrow["source"].strip())
            if at_arrow.line is None:
                at_arrow = replace(at_arrow, line=line_number(arrow["line"]))
            block.frames[-1] = at_arrow
        elif re.match(rf"{re.escape(kind)}(:|$)", line):
            take_message(block, numbered[place:])
            return block
        elif HEADER.search(line):
            break
    return block if block.frames else None


def boxed(lines: Sequence[str], at: int) -> Block | None:
    block = Block(at + 1)
    numbered = list(enumerate(lines[at + 1 : at + 1 + MOST_LINES], start=at + 1))
    for place, (number, line) in enumerate(numbered):
        block.end = number
        if line.startswith("╰"):
            take_message(block, numbered[place + 1 :])
            return block
        if found := RICH_FRAME.match(line):
            block.frames.append(framed(found))
        elif block.frames and (arrow := RICH_ARROW.match(line)):
            block.frames[-1] = replace(block.frames[-1], source=arrow["source"].strip("│ "))
    return block if block.frames else None


def died(lines: Sequence[str]) -> Raised | None:
    """An end without an exception, as the shell, torchrun or faulthandler tells it."""
    said = next((found["said"] for line in lines if (found := FATAL.match(line))), None)
    if said is None:
        return None
    frames: list[TracebackFrame] = []
    inside = False
    for line in lines:
        inside = bool(FATAL_THREAD.match(line)) or (inside and line.startswith("  "))
        if inside and (found := FATAL_FRAME.match(line)):
            frames.insert(0, framed(found))
    return Raised(said.strip(), tuple(frames))
