"""Writes `src/surefit/__init__.pyi` for editors and mypy: `python -m tools.api_stub [--check]`.

The functions stand in it with the signatures and the help that they have when they run, which are
made from the settings classes. With `--check` nothing is written, and the exit code is 1 if the
file differs.
"""

import inspect
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import FunctionType
from typing import Any, get_args

import surefit
from surefit.signatures import as_written

FILE = Path(surefit.__file__).with_suffix(".pyi")
FUNCTIONS = ("ask", "distill", "eval", "pretrain", "sft")

HEAD = '''"""Training runs you can trust."""

# Made by `python -m tools.api_stub` from the settings classes; a test holds it against them.

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from surefit.data.in_memory import DataFrameLike, DatasetLike
'''


def stub() -> str:
    """The whole file."""
    imports = [
        f"from {module} import {name} as {name}"
        for name, (module, attribute) in vars(surefit)["_WHERE"].items()
        if name not in FUNCTIONS and name == attribute
    ]
    kinds = [kind for name in FUNCTIONS for kind in results_of(name)]
    results = {kind.__name__: kind.__module__ for kind in kinds}
    own = {name for name in surefit.__all__ if name[0].isupper()}
    imports += [f"from {at} import {name}" for name, at in results.items() if name not in own]
    listed = "".join(f"    {name!r},\n" for name in surefit.__all__)
    every = "\n".join(definition(name) for name in FUNCTIONS)
    text = (
        f"{HEAD}\n" + "\n".join(imports) + "\n\n__version__: str\n\n"
        f"__all__ = [\n{listed}]\n\n{every}"
    )
    return formatted(text)


def results_of(name: str) -> tuple[type, ...]:
    """What a function gives back, by what it was called with."""
    returned = inspect.signature(getattr(surefit, name)).return_annotation
    return get_args(returned) or (returned,)


def definition(name: str) -> str:
    function: Callable[..., Any] = getattr(surefit, name)
    assert isinstance(function, FunctionType)
    text = (function.__doc__ or "").replace("\\", "\\\\")
    said = "\n".join(f"    {line}".rstrip() for line in text.splitlines()).lstrip()
    return f'def {name}{written(inspect.signature(function))}:\n    """{said}\n    """\n    ...\n'


def written(signature: inspect.Signature) -> str:
    parts: list[str] = []
    for parameter in signature.parameters.values():
        if parameter.kind is parameter.KEYWORD_ONLY and "*" not in parts:
            parts.append("*")
        default = "" if parameter.default is parameter.empty else f" = {parameter.default!r}"
        parts.append(f"{parameter.name}: {as_written(parameter.annotation)}{default}")
    return f"({', '.join(parts)},) -> {as_written(signature.return_annotation)}"


def formatted(text: str) -> str:
    for words in (["check", "--quiet", "--fix", "--select", "I"], ["format"]):
        command = [sys.executable, "-m", "ruff", *words, "--stdin-filename", str(FILE), "-"]
        ran = subprocess.run(command, input=text, capture_output=True, text=True, check=True)
        text = ran.stdout
    return text


if __name__ == "__main__":
    if "--check" in sys.argv:
        sys.exit(FILE.read_text(encoding="utf-8") != stub())
    FILE.write_text(stub(), encoding="utf-8")
