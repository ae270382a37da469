"""Records a terminal for the README: `python -m tools.recording`.

It runs `surefit run` on an example and draws what it printed, line by line at the time it came, to
docs/recording.svg. Pauses are shortened, which the picture says; folders of this machine are left
out; nothing else is changed. The picture plays once and ends on the diagnosis.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from xml.sax.saxutils import escape

from rich.style import Style
from rich.terminal_theme import DIMMED_MONOKAI
from rich.text import Text

ROOT = Path(__file__).resolve().parents[1]
SCRIPT = ROOT / "examples" / "carried_memory.py"
FILE = ROOT / "docs" / "recording.svg"

COLUMNS, ROWS = 80, 36
LONGEST_PAUSE = 1.5
"""Seconds; a longer one is shortened to it."""

WIDTH, HEIGHT, TOP, LEFT = 7.8, 17, 40, 14
"""Pixels: of a character and a line; above and beside the text."""

HEAD = """\
<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height}" role="img" \
aria-label="{label}">
<style>
text {{ font: 13px ui-monospace, Menlo, Consolas, "DejaVu Sans Mono", monospace; fill: #d8d8d2; \
white-space: pre; }}
.bar {{ fill: #9a9a92; font-size: 12px; }}
@keyframes come {{ from {{ opacity: 0 }} to {{ opacity: 1 }} }}
@keyframes scroll {{ {scroll} }}
@media (prefers-reduced-motion: no-preference) {{
.screen {{ animation: scroll {seconds:.2f}s step-end both; }}
.screen g {{ animation: come 1ms both; }}
}}
</style>
<rect width="100%" height="100%" rx="8" fill="#1b1d1e"/>
<circle cx="18" cy="16" r="5" fill="#f25056"/><circle cx="36" cy="16" r="5" fill="#fac536"/>\
<circle cx="54" cy="16" r="5" fill="#39ea49"/>
<text class="bar" x="76" y="20">{title}</text>
<clipPath id="window"><rect y="{window}" width="100%" height="{shown}"/></clipPath>
<g clip-path="url(#window)"><g class="screen" transform="translate(0 {last})">
"""


@dataclass(frozen=True, slots=True)
class Line:
    """A line on the screen, and when it came, in seconds from the start."""

    at: float
    text: Text


def record(script: Path) -> list[Line]:
    """Runs the script in a folder of its own, as it would be typed there."""
    surroundings = {
        **os.environ,
        "COLUMNS": str(COLUMNS),
        "FORCE_COLOR": "1",
        "PYTHONUNBUFFERED": "1",
        "TERM": "xterm-256color",
    }
    with tempfile.TemporaryDirectory() as folder:
        shutil.copy(script, folder)
        program = subprocess.Popen(
            [sys.executable, "-m", "surefit", "run", script.name],
            cwd=folder,
            env=surroundings,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
        )
        assert program.stdout is not None
        came = [(time.monotonic(), without_folders(line, folder)) for line in program.stdout]
        program.wait()
    while came and not came[-1][1].strip():
        came.pop()
    return list(on_screen(f"$ surefit run {script.name}", came))


def without_folders(line: str, folder: str) -> str:
    line = re.sub(r"[^\s\"]*(/site-packages/)", r".venv/lib\1", line)
    return line.replace(f"{Path(folder).resolve()}/", "").replace(f"{folder}/", "")


def on_screen(command: str, came: Sequence[tuple[float, str]]) -> Iterator[Line]:
    """Lines as a terminal folds them, with pauses shortened."""
    yield Line(0.0, Text(command, style="bold"))
    at, before, above = 0.5, came[0][0] if came else 0.0, command
    for moment, line in came:
        at += min(moment - before, LONGEST_PAUSE)
        before = moment
        text = Text.from_ansi(moving_signs_removed(line))
        if re.match("[⠀-⣿] surefit: ", text.plain):  # a moving sign, gone when the work is done
            continue
        if not text.plain.strip() and not above:
            continue
        above = text.plain.strip()
        cuts = range(COLUMNS, len(text), COLUMNS)
        for part in text.divide(cuts) if cuts else [text]:
            yield Line(at, part)


def moving_signs_removed(line: str) -> str:
    """What a terminal shows of a line after its last redrawing."""
    return re.sub(r"\x1b\[[0-9;?]*[A-HJKhl]", "", line.rstrip("\r\n").rpartition("\r")[2])


def picture(lines: Sequence[Line], title: str) -> str:
    """The lines as an animated SVG of one window."""
    seconds = lines[-1].at + 0.01
    moves = {}
    for count, line in enumerate(lines, start=1):
        moves[f"{100 * line.at / seconds:.2f}%"] = -max(0, count - ROWS) * HEIGHT
    last = -max(0, len(lines) - ROWS) * HEIGHT
    steps = [f"{at} {{ transform: translateY({by}px) }}" for at, by in moves.items()]
    drawn = HEAD.format(
        width=2 * LEFT + COLUMNS * WIDTH,
        height=TOP + ROWS * HEIGHT + 10,
        window=TOP - HEIGHT + 4,
        shown=ROWS * HEIGHT + 4,
        label=escape(title, {'"': "&quot;"}),
        title=escape(title),
        seconds=seconds,
        scroll=" ".join([*steps, f"100% {{ transform: translateY({last}px) }}"]),
        last=last,
    )
    groups: dict[float, list[str]] = {}
    for row, line in enumerate(lines):
        groups.setdefault(line.at, []).append(drawn_line(line.text, TOP + row * HEIGHT))
    for at, rows in groups.items():
        drawn += f'<g style="animation-delay: {at:.2f}s">\n{"".join(rows)}</g>\n'
    return drawn + "</g></g>\n</svg>\n"


def drawn_line(text: Text, y: int) -> str:
    """Each stretch of one style stands at its own column, whatever the font's width is."""
    spans = []
    for start, end, style in stretches(text):
        words = text.plain[start:end]
        if words.strip():
            x, length = LEFT + start * WIDTH, (end - start) * WIDTH
            at = f'x="{x:.1f}" textLength="{length:.1f}"'
            spans.append(f"<tspan {at}{looks(style)}>{escape(words)}</tspan>")
    return f'<text y="{y}">{"".join(spans)}</text>\n' if spans else ""


def stretches(text: Text) -> Iterator[tuple[int, int, Style]]:
    edges = {0, len(text)} | {edge for span in text.spans for edge in (span.start, span.end)}
    ordered = sorted(edge for edge in edges if 0 <= edge <= len(text))
    for start, end in pairwise(ordered):
        style = Style.parse(str(text.style)) if text.style else Style()
        for span in text.spans:
            if span.start <= start and end <= span.end:
                style += span.style if isinstance(span.style, Style) else Style.parse(span.style)
        yield start, end, style


def looks(style: Style) -> str:
    color = style.color
    fill = ""
    if color is not None and not color.is_default:
        fill = f' fill="{color.get_truecolor(DIMMED_MONOKAI).hex}"'
    weight = ' font-weight="bold"' if style.bold else ""
    return f"{fill}{weight}" + (' opacity="0.65"' if style.dim else "")


if __name__ == "__main__":
    title = f"surefit run {SCRIPT.name} (pauses over {LONGEST_PAUSE} s shortened)"
    FILE.write_text(picture(record(SCRIPT), title), encoding="utf-8")
    print(f"{FILE.relative_to(ROOT)}: {FILE.stat().st_size:,} bytes")
