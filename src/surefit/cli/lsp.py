"""`surefit lsp`."""

import os
import sys

from surefit.render import console


def lsp() -> int:
    """Run the language server: findings while you type, quick fixes, rule pages on
    hover.

    surefit lsp

    An editor starts it and talks to it over stdin and stdout. Your code is never
    executed. `[tool.surefit]` in `pyproject.toml` selects rules, as for `surefit
    lint`.
    """
    from surefit.language_server.server import EditorServer

    if sys.stdin.isatty():
        console.errors.print("Waiting for an editor on stdin; press Ctrl-C to stop.")
    # A thread that still reads would hold the lock of `sys.stdin`, which Python closes at its end.
    incoming = os.fdopen(os.dup(sys.stdin.fileno()), "rb")
    outgoing = sys.stdout.buffer
    sys.stdout = sys.stderr  # nothing else may reach the editor
    try:
        return EditorServer(incoming, outgoing).serve()
    finally:
        sys.stdout = sys.__stdout__
