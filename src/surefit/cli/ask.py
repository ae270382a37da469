"""`surefit ask`."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from surefit.render import console

if TYPE_CHECKING:
    from surefit.recipes.trained import Trained

NEW, STDIN, GOES_ON = "/new", "-", "\\"


def ask(run: Path, text: str | None = None, *, system: str | None = None) -> None:
    """Send a prompt to a trained model, or chat with it.

    surefit ask runs/sft-1 "Mara Lind lent 40 crowns to Otto Berg. Who has to pay?"
    surefit ask runs/sft-1                       chat; Ctrl-D ends it
    surefit ask runs/sft-1 - < question.txt      one prompt from stdin

    In a chat, /new starts over, and a line that ends with a backslash continues on
    the next.

    The prompt is built like the training rows: same template, and the same system
    message if all training rows had one.

    Parameters
    ----------
    run
        A run folder.
    text
        The prompt, like the `input` of a row; `-` reads it from stdin.
    system
        Replaces the system message of the training rows; an empty text removes it.
    """
    from surefit.train.record import refuse_no_run

    refuse_no_run(run)
    with console.importing():
        from surefit.recipes.trained import load_trained

    trained = load_trained(run)
    _say_system(trained, system)
    if text is None:
        _converse(trained, system)
        return
    print(trained.ask(sys.stdin.read().strip("\n") if text == STDIN else text, system))


def _converse(trained: "Trained", system: str | None) -> None:
    """A line is a question; each is asked with all before it, until `/new`."""
    from surefit.recipes.trained import Conversation
    from surefit.render.console import say

    about = trained.known.about if trained.known else None
    if about is not None and about.turns <= 1 and sys.stdin.isatty():
        say(f"The training rows had a single turn each; {NEW} starts a new conversation.")
    conversation = Conversation(trained, system)
    for line in _lines():
        if line.strip() == NEW:
            conversation = Conversation(trained, system)
        elif line.strip():
            print(conversation.ask(line), flush=True)


def _lines() -> Iterator[str]:
    """With a prompt where a person types them; a line that ends with a backslash goes on."""
    typed = sys.stdin.isatty()
    whole: list[str] = []
    while True:
        try:
            line = input(("... " if whole else "> ") if typed else "")
        except EOFError:
            return
        whole.append(line.removesuffix(GOES_ON))
        if not line.endswith(GOES_ON):
            yield "\n".join(whole)
            whole = []


def _say_system(trained: "Trained", system: str | None) -> None:
    """Beside the answers, so that these can be piped."""
    known = trained.known
    if console.quiet or known is None or system is not None:
        return
    if trained.system:
        shown = trained.system if len(trained.system) <= 60 else f"{trained.system[:60]}..."
        console.errors.print(f"System message, as in all training rows: {shown}")
    elif known.about.systems:
        console.errors.print(
            f"The training rows had {known.about.systems} different system messages; this prompt "
            "has "
            "none. Set one with `--system TEXT`."
        )
