"""`surefit lsp`."""

import os
import sys

from surefit.render import console


def lsp() -> int:
    """Serve an editor: findings while you type, quick fixes, the rule's page on hover.

    surefit lsp

    It speaks the Language Server Protocol on standard input and output, and an editor
    starts it. Nothing is run. `[tool.surefit]` in `pyproject.toml` says which rules are
    told, as for `surefit lint`.
    """
    from surefit.language_server.server import EditorServer

    if sys.stdin.isatty():
        console.errors.print("Waiting for an editor on standard input; Ctrl-C ends it.")
    # A thread that still reads would hold the lock of `sys.stdin`, which Python closes at its end.
    incoming = os.fdopen(os.dup(sys.stdin.fileno()), "rb")
    outgoing = sys.stdout.buffer
    sys.stdout = sys.stderr  # nothing else may reach the editor
    try:
        return EditorServer(incoming, outgoing).serve()
    finally:
        sys.stdout = sys.__stdout__
