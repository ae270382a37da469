"""Writes what pages in docs/ say of the source: `python -m tools.doc_pages [--check]`.

Each page has its own prose; what stands between two markers is made here: functions with their
signatures, settings, results of runs, laws, names in other libraries. With `--check` nothing is
written; pages that differ are named, and the exit code is 1 if there are any.
"""

import inspect
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import MISSING, fields, is_dataclass
from pathlib import Path
from typing import Any, get_type_hints

import surefit
from surefit.doctor.recording import Recording
from surefit.laws.runs import every_invariant, watched_by
from surefit.other_names import ALMOST, OTHER_NAMES
from surefit.recipes.distill_settings import Distillation
from surefit.recipes.pretrain_settings import FeaturePretraining
from surefit.recipes.sft_settings import LoraSft
from surefit.settings import names
from surefit.signatures import as_written, field_texts, python_type
from surefit.train import record
from tools.api_stub import FUNCTIONS, results_of

DOCS = Path(__file__).resolve().parents[1] / "docs"
RECIPES = {"sft": LoraSft, "pretrain": FeaturePretraining, "distill": Distillation}
HIDDEN = "__version__"


def functions() -> str:
    """Every public name with its signature and its docstring; settings stand on their own page."""
    return "\n\n".join(entry(name) for name in surefit.__all__ if name != HIDDEN)


def entry(name: str) -> str:
    thing = getattr(surefit, name)
    if name in RECIPES or thing in RECIPES.values():
        command = next(of for of, kind in RECIPES.items() if of == name or kind is thing)
        call = "(*, setting=value, ...)"
        more = f"Its settings: [surefit {command}](settings.md#surefit-{command})."
    else:
        call, more = signature(thing), ""
    if name in FUNCTIONS:
        kinds = " or ".join(f"`{kind.__name__}`" for kind in results_of(name))
        more = f"{more}\n\nIt returns {kinds}: see [results](run-folder.md#reports).".strip()
    about = first_part(thing)
    return "\n\n".join(filter(None, [f"### {name}", code(f"surefit.{name}{call}"), about, more]))


def signature(thing: Any) -> str:
    """As source would have it, without the names of modules."""
    parts: list[str] = []
    read = inspect.signature(thing)
    for parameter in read.parameters.values():
        if parameter.kind is parameter.KEYWORD_ONLY and "*" not in parts:
            parts.append("*")
        said = "" if parameter.annotation is parameter.empty else f": {kind_of(parameter)}"
        default = "" if parameter.default is parameter.empty else f" = {short(parameter.default)}"
        parts.append(f"{parameter.name}{said}{default}")
    call = f"({', '.join(parts)})"
    return call if len(call) < 80 else "(\n    " + ",\n    ".join(parts) + ",\n)"


def kind_of(parameter: inspect.Parameter) -> str:
    written = parameter.annotation
    return written if isinstance(written, str) else as_written(written)


def first_part(thing: Any) -> str:
    """The docstring up to the list of settings; examples in it as code."""
    text = (inspect.getdoc(thing) or "").partition("\n\nSettings, as ")[0]
    paragraphs = text.partition("\n\nIt gives back")[0].split("\n\n")
    return "\n\n".join(
        code(paragraph) if is_code(paragraph) else paragraph for paragraph in paragraphs
    )


def is_code(paragraph: str) -> bool:
    listed = re.match(r"\w+\n    \S", paragraph) or re.match(r"\w+: .*\n    \S", paragraph)
    return bool(listed) or paragraph.lstrip().startswith(("surefit.", "with ", "trainer ", "for "))


def code(text: str) -> str:
    return f"```text\n{text}\n```"


def short(value: object) -> str:
    """Of a default: as it would be typed."""
    return repr(str(value)) if isinstance(value, Path) else repr(value)


def settings() -> str:
    return "\n\n".join(
        f"## surefit {command}\n\n{inspect.getdoc(kind)}\n\n{settings_of(kind)}"
        for command, kind in RECIPES.items()
    )


def settings_of(kind: type) -> str:
    declared, texts, known = get_type_hints(kind), field_texts(kind), names(kind)
    rows = []
    for field in fields(kind):
        also = [name for name, of in known.items() if of == field.name != name]
        said = texts.get(field.name, "") + (f" Also `{'`, `'.join(also)}`." if also else "")
        kinds = as_written(python_type(declared[field.name]))
        default = "must be given" if field.default is MISSING else f"`{short(field.default)}`"
        rows.append((f"`{field.name}`", f"`{kinds}`", default, said))
    return table(("setting", "takes", "default", ""), rows)


def reports() -> str:
    """What the functions return, in the order of the functions."""
    kinds = {kind.__name__: kind for name in FUNCTIONS for kind in results_of(name)}
    parts = []
    for name, kind in kinds.items():
        if not is_dataclass(kind):
            continue
        texts, declared = field_texts(kind), get_type_hints(kind)
        rows = [
            (f"`{field.name}`", f"`{as_written(declared[field.name])}`", texts.get(field.name, ""))
            for field in fields(kind)
        ]
        about = inspect.getdoc(kind) or ""
        parts.append(f"### {name}\n\n{about}\n\n{table(('field', 'is', ''), rows)}")
    return "\n\n".join(parts)


def files() -> str:
    """The list at the head of the module that writes them."""
    listed = (record.__doc__ or "").partition("\n\n")[2].strip()
    return code(listed)


def laws() -> str:
    """Every law, and why it is not measured in a run of which nothing was seen."""
    nothing = Recording([])
    rows = [
        (name, invariant.law.words, watched_by(invariant, nothing).why_not)
        for name, invariant in every_invariant().items()
    ]
    return table(("law", "in a healthy run", "not measured if"), rows)


def other_names() -> str:
    same = [(f"`{there}`", f"`{here}`") for there, here in OTHER_NAMES.items()]
    near = [(f"`{there}`", f"`{here}`", said) for there, (here, said) in ALMOST.items()]
    return (
        f"{table(('there', 'here'), same)}\n\nThese are not taken, and the refusal says what comes"
        f" nearest:\n\n{table(('there', 'nearest here', ''), near)}"
    )


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    cells = [[cell.replace("|", r"\|") for cell in row] for row in rows]
    lines = [head, ["---"] * len(head), *cells]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


PARTS: dict[str, dict[str, Callable[[], str]]] = {
    "api.md": {"functions": functions},
    "coming-from.md": {"names": other_names},
    "laws.md": {"laws": laws},
    "run-folder.md": {"files": files, "reports": reports},
    "settings.md": {"settings": settings},
}
"""Page -> part -> who writes it."""


def written(text: str, parts: dict[str, Callable[[], str]]) -> str:
    """The page with each part as the source has it now."""
    for name, part in parts.items():
        begin, end = f"<!-- {name}: python -m tools.doc_pages -->", f"<!-- end of {name} -->"
        before, found, rest = text.partition(begin)
        assert found, f"no `{begin}` in the page"
        text = f"{before}{begin}\n\n{part()}\n\n{end}{rest.partition(end)[2]}"
    return text


def differing(folder: Path) -> Iterator[tuple[Path, str]]:
    """Pages that are not what the source says, with what they should be."""
    for name, parts in PARTS.items():
        page = folder / name
        text = page.read_text(encoding="utf-8")
        if written(text, parts) != text:
            yield page, written(text, parts)


def main(arguments: list[str], folder: Path = DOCS) -> int:
    differ = list(differing(folder))
    for page, text in differ:
        if arguments == ["--check"]:
            print(f"docs/{page.name} is not what the source says; run `python -m tools.doc_pages`")
        else:
            page.write_text(text, encoding="utf-8")
            print(f"docs/{page.name} is written")
    return 1 if differ and arguments == ["--check"] else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
