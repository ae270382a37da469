"""Where surefit prints: messages, and progress bars with time left."""

from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.text import Text

from surefit.source.kernel import kernel

from .visible import visible

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

    from .notebook_bar import NotebookBar


PLAIN_MARKS = str.maketrans("─━│…·×−→", "--|~.x->")
"""What findings are drawn with, for a terminal that has no such characters; of the same width."""


class SafeConsole(Console):
    """Nothing that is printed is obeyed by the terminal: the last edge, whoever prints."""

    @property
    def has_marks(self) -> bool:
        return self.encoding.startswith("utf")

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        for text, style, control in super().render(renderable, options):
            if not control:
                text = visible(text if self.has_marks else text.translate(PLAIN_MARKS), keep="\n")
            yield Segment(text, style, control)


# In a notebook as plain text, too: rich would make an output of every line.
out = SafeConsole(highlight=False, markup=False, emoji=False, force_jupyter=False)
errors = SafeConsole(highlight=False, markup=False, emoji=False, stderr=True, force_jupyter=False)

quiet = False
"""Set by `--quiet`: nothing is said and no bar is drawn; findings are still shown."""


def say(text: str = "") -> None:
    """Prints a message as it is, at any length, with nothing in it obeyed by the terminal."""
    if not quiet:
        out.print(Text(visible(text, keep="\n")), soft_wrap=True)


def write(document: str) -> None:
    """A document for programs on standard output, as it is, and also where all else is quiet."""
    out.file.write(document)


@contextmanager
def working(on: str) -> Iterator[None]:
    """A moving sign on a terminal while something of unknown length is done; else nothing."""
    if quiet or kernel() is not None or not errors.is_terminal or errors.is_dumb_terminal:
        yield
        return
    with errors.status(visible(f"surefit: {on}"), spinner="dots" if errors.has_marks else "line"):
        yield


def importing() -> AbstractContextManager[None]:
    """While libraries are imported that take seconds."""
    return working("importing torch and transformers")


class Bar:
    """What is counted: drawn on a terminal, told in lines elsewhere."""

    def __init__(
        self, description: str, total: int | None, done: int, log_every: int | None
    ) -> None:
        self.description = description
        self.total = total
        self.done = done
        self.log_every = log_every
        self.drawn: tuple[Progress, TaskID] | None = None
        self.in_notebook: NotebookBar | None = None

    def step(self, n: int = 1, **fields: str) -> None:
        """Counts `n` more; the fields stand beside the count, as `name value`."""
        before, self.done = self.done, self.done + n
        values = "  ".join(f"{name} {value}" for name, value in fields.items())
        if self.drawn:
            progress, task = self.drawn
            progress.update(task, completed=self.done, fields=visible(values))
        elif self.in_notebook:
            self.in_notebook.show(self.description, self.done, self.total, values)
        elif self.log_every and self.done // self.log_every > before // self.log_every:
            count = str(self.done) if self.total is None else f"{self.done}/{self.total}"
            say("  ".join(part for part in (self.description, count, values) if part))


@contextmanager
def progress(
    description: str,
    total: int | None,
    done: int = 0,
    log_every: int | None = None,
    console: Console | None = None,
) -> Iterator[Bar]:
    """A bar on a terminal; elsewhere a line every `log_every` steps, or nothing.

    `done` is how many of `total` were done in an earlier run.
    """
    console = console or out
    bar = Bar(description, total, done, log_every)
    if not quiet and kernel() is not None:
        from .notebook_bar import NotebookBar

        bar.in_notebook = NotebookBar()
        yield bar
        bar.in_notebook.end()
        return
    if quiet or not console.is_terminal or console.is_dumb_terminal:
        yield bar
        return
    # All that rich draws bars with is slow to import, and seldom needed.
    from rich.progress import Progress

    from .columns import columns

    with Progress(*columns(console.width), console=console, expand=True) as drawing:
        task = drawing.add_task(visible(description), total=total, completed=done, fields="")
        bar.drawn = drawing, task
        yield bar
