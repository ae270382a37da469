"""A settings class as the signature and the help of a Python function."""

import ast
import inspect
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import MISSING, Field, fields
from functools import reduce
from itertools import pairwise
from operator import or_
from pathlib import Path
from types import NoneType, UnionType
from typing import (
    Annotated,
    Any,
    Literal,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

from surefit.settings import hints, names

Function = TypeVar("Function", bound=Callable[..., Any])

WIDTH = 72


def takes(
    kind: type, command: str, types: Mapping[str, Any] | None = None
) -> Callable[[Function], Function]:
    """Gives a function that is called with settings by name their signature and their help.

    `types` are those of settings that Python takes more for than a flag can say.
    """

    def decorate(function: Function) -> Function:
        own = [
            parameter
            for parameter in inspect.signature(function).parameters.values()
            if parameter.kind is not inspect.Parameter.VAR_KEYWORD
        ]
        settings = parameters(kind, types or {})
        returned = inspect.signature(function).return_annotation
        signature = inspect.Signature([*own, *settings], return_annotation=returned)
        vars(function)["__signature__"] = signature
        function.__name__ = command
        function.__doc__ = help_text(function, kind, command, settings, returned)
        return function

    return decorate


def parameters(kind: type, types: Mapping[str, Any]) -> list[inspect.Parameter]:
    """Of every setting: its name, its default, and what Python may give for it."""
    declared = hints(kind)
    return [
        inspect.Parameter(
            field.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=_default(field),
            annotation=types.get(field.name, python_type(declared[field.name])),
        )
        for field in fields(kind)
    ]


def python_type(hint: Any) -> Any:
    """What `surefit.settings.fit` takes for a declared type: a text is a path, too, and any
    sequence or a single item is a tuple."""
    origin, inside = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return python_type(inside[0])
    if origin in (Union, UnionType):
        return reduce(or_, map(python_type, inside))
    if origin is tuple:
        return python_type(inside[0]) | Sequence[python_type(inside[0])]  # type: ignore[misc]
    return str | Path if hint is Path else hint


def as_written(hint: Any) -> str:
    """A type as source has it, its names without their modules."""
    origin, inside = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        return " | ".join(map(as_written, inside))
    if origin is Literal:
        return f"Literal[{', '.join(map(repr, inside))}]"
    if origin is not None:
        return f"{origin.__name__}[{', '.join(map(as_written, inside))}]"
    return "None" if hint in (None, NoneType) else getattr(hint, "__name__", str(hint))


def help_text(
    function: Callable[..., Any],
    kind: type,
    command: str,
    settings: Sequence[inspect.Parameter],
    result: type,
) -> str:
    """What the function does, every setting in the words of `--help`, and what it gives back."""
    about = inspect.cleandoc(function.__doc__ or "")
    every = "\n".join(_setting(setting, kind) for setting in settings)
    return (
        f"{about}\n\nSettings, as `surefit {command} --help` has them:\n\n{every}\n\n"
        f"It gives back a `{result.__name__}`:\n\n{fields_of(result)}"
    )


def fields_of(result: type) -> str:
    """The fields of what is given back, with what they hold."""
    texts = field_texts(result)
    return "\n".join(
        f"{name}: {as_written(hint)}\n{_wrapped(texts.get(name, ''))}"
        for name, hint in get_type_hints(result).items()
    )


def _setting(setting: inspect.Parameter, kind: type) -> str:
    default = "" if setting.default is inspect.Parameter.empty else f" = {setting.default!r}"
    others = [name for name, field in names(kind).items() if field == setting.name != name]
    said = field_texts(kind).get(setting.name, "")
    also = f" (also: {', '.join(others)})" if others else ""
    return f"{setting.name}: {as_written(setting.annotation)}{default}\n{_wrapped(said + also)}"


def _wrapped(text: str) -> str:
    lines = textwrap.wrap(text, WIDTH, break_on_hyphens=False, break_long_words=False)
    return "\n".join(f"    {line}" for line in lines)


def field_texts(kind: type) -> dict[str, str]:
    """Field -> the string beneath it, which also is the help of its flag."""
    (definition,) = ast.parse(textwrap.dedent(inspect.getsource(kind))).body
    assert isinstance(definition, ast.ClassDef)
    return dict(_texts(definition.body))


def _texts(body: Sequence[ast.stmt]) -> Iterator[tuple[str, str]]:
    for before, after in pairwise(body):
        match before, after:
            case (
                ast.AnnAssign(target=ast.Name(id=name)),
                ast.Expr(value=ast.Constant(value=str(text))),
            ):
                yield name, " ".join(text.split())


def _default(field: "Field[Any]") -> Any:
    if field.default is not MISSING:
        return field.default
    return inspect.Parameter.empty if field.default_factory is MISSING else field.default_factory()
