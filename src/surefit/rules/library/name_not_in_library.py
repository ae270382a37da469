"""The script asks a library for a name that the installed version does not have.

## What happens
Libraries move and drop what they hold: `transformers.AdamW` is gone, `numpy.float` is, and so is
`DataFrame.append`. A script that was written for another version stops with an `ImportError` or an
`AttributeError`.

## Why it matters
An older version of the library brings other faults, and often does not go with the rest of what is
installed. The message does not say what stands in the name's place.

## What to do
Use what stands in its place: `torch.optim.AdamW`, Python's own `float`, `pandas.concat`.

## How it is recognised
The failing statement imports a name, or asks a module or a value of a library for one, which the
installed library does not have; or it calls one that is kept only to raise. What stands in its
place is told only if it is found there. The text of the exception is not looked at.

In a script that is only read: the same of imports and of attributes of modules, by the source of
the installed library, which is not imported. Where names can come into a module without being
written in it, only those are reported that are known to be given up. Passed over is what stands in
a `try`, or under an `if` that asks for a version or an attribute.
"""

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from surefit.doctor.causes import is_cause, was_only_read
from surefit.doctor.conditions.condition import All, Condition
from surefit.doctor.conditions.grown import RowsAdded
from surefit.doctor.conditions.names import NamesExist
from surefit.doctor.conditions.optimizers import OptimizerSteps
from surefit.doctor.findings import Fact, Finding, Fix, Place, Severity
from surefit.doctor.observations import Crash, Frame, Question, Script
from surefit.doctor.recording import Recording
from surefit.doctor.rule import Rule
from surefit.doctor.symptoms import Symptom
from surefit.doctor.words import code, counted, spoken
from surefit.evidence.tried_first import is_tried_first
from surefit.source.edits import argument_removed, both, replaced, with_import
from surefit.source.installed import has_name, is_shadowed, is_there, version
from surefit.source.patches import Edit, Replace
from surefit.source.reading import Source, called
from surefit.source.spans import Span

RULE = Rule(
    "SF852",
    "name-not-in-library",
    Severity.ERROR,
    __doc__,
    symptoms=(
        Symptom(
            r"ImportError: cannot import name|AttributeError: module '[\w.]+' has no attribute",
            "whether the installed version of the library has the name",
        ),
    ),
)

STANDS_FOR = {
    "transformers.AdamW": "torch.optim.AdamW",
    "transformers.optimization.AdamW": "torch.optim.AdamW",
    "transformers.AutoModelWithLMHead": "transformers.AutoModelForCausalLM",
    "transformers.AutoModelForVision2Seq": "transformers.AutoModelForImageTextToText",
    "transformers.EvaluationStrategy": "transformers.IntervalStrategy",
    "transformers.trainer_utils.EvaluationStrategy": "transformers.IntervalStrategy",
    "peft.prepare_model_for_int8_training": "peft.prepare_model_for_kbit_training",
    "datasets.load_metric": "evaluate.load",
    "numpy.float": "float",
    "numpy.int": "int",
    "numpy.bool": "bool",
    "numpy.object": "object",
    "numpy.str": "str",
    "numpy.complex": "complex",
    "numpy.float_": "numpy.float64",
    "numpy.Inf": "numpy.inf",
    "numpy.NaN": "numpy.nan",
    "numpy.NAN": "numpy.nan",
    "numpy.product": "numpy.prod",
    "numpy.cumproduct": "numpy.cumprod",
    "numpy.row_stack": "numpy.vstack",
    "numpy.in1d": "numpy.isin",
    "numpy.trapz": "numpy.trapezoid",
    "numpy.sometrue": "numpy.any",
    "numpy.alltrue": "numpy.all",
}
"""Full names that libraries have given up -> what does the same; the installed library decides."""

ELSEWHERE = ("torch.optim", "torch.optim.lr_scheduler", "torch.nn", "torch.utils.data")
"""Where a name that another library has given up is looked for."""

METHODS = {
    "iteritems": "items",
    "applymap": "map",
    "as_matrix": "to_numpy",
    "append": "",
}
"""Methods that tables of pandas had -> their new names; empty: nothing is called in its way."""

ONLY_READ = "the script was read, not run"
UNKNOWN_TO_TORCH = ("correct_bias", "no_deprecation_warning")
"""Arguments that the optimizers of transformers took, and those of torch do not."""


ONLY_RAISE = {
    "torch.solve": "torch.linalg.solve",
    "torch.lstsq": "torch.linalg.lstsq",
    "torch.matrix_rank": "torch.linalg.matrix_rank",
    "torch.symeig": "torch.linalg.eigh",
    "torch.eig": "torch.linalg.eig",
}
"""Functions that are there to say that they are gone -> what does the same."""
OTHER_ORDER = ("torch.solve", "torch.lstsq")
"""Took the right side first, and gave two results."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """Names that a statement asks a library for."""

    source: Source
    node: ast.ImportFrom | ast.Attribute
    owner: str
    """Full name of the module, or the text of a value."""
    names: tuple[str, ...]
    by_import: bool
    of_value: bool = False


@RULE.on(Crash)
def a_name_was_gone(crash: Crash, seen: Recording) -> Iterator[Finding]:
    frame = crash.own_frame
    if frame is None or not is_cause(crash, seen):
        return
    wanted = wanted_at(crash, frame, seen)
    if wanted is None:
        return
    asked = question(crash, frame, wanted)
    said = seen.ask(asked)
    missing = [str(one) for one in said["missing"]] if said else []
    if said is None or not missing:
        return
    exist = [str(one) for one in said["exist"]]
    near = {str(name): [str(one) for one in alike] for name, alike in said["near"].items()}
    instead = {name: successor(wanted, name, exist, near[name]) for name in missing}
    installed = f"{said['package']} {said['version']}".strip()
    line = wanted.node.lineno
    yield RULE.finding(
        Place(wanted.source.file, line),
        headline(wanted, missing, instead, installed, str(said["owner"])),
        facts=tuple(facts(instead, near)),
        why=f"{installed} is installed: another version had the name, or it is misspelled.",
        fixes=(fix(wanted, instead, asked, frame),),
        python_said=crash.said,
        about=crash.id,
    )


@RULE.on(Crash)
def a_function_only_raises(crash: Crash, seen: Recording) -> Iterator[Finding]:
    """The name is there, and all that it does is to raise."""
    frame, last = crash.own_frame, crash.frames[-1] if crash.frames else None
    source = seen.source(frame.place) if frame and is_cause(crash, seen) else None
    call = source.expression_at(frame.span) if source and frame and frame.span else None
    full = source.imported(call.func) if source and isinstance(call, ast.Call) else ""
    if source is None or frame is None or last is None or full not in ONLY_RAISE:
        return
    if not isinstance(call, ast.Call) or last.own or not last.line.startswith("raise"):
        return
    if last.function != called(call):
        return
    new = ONLY_RAISE[full]
    asked = Question("names", crash.id, {"module": "torch", "names": [], "exist": [new]})
    said = seen.ask(asked)
    if said is None or new not in said["exist"]:
        return
    edit = called_anew(source, call, full, new)
    statement = source.statement_of(call)
    place = Place(source.file, statement.lineno)
    texts = tuple(ast.unparse(one) for one in given_first(statement))
    order = ", with the matrix first" if full in OTHER_ORDER else ""
    yield RULE.finding(
        Place(source.file, call.lineno),
        f"`{full}` of torch {said['version']} only raises: `{new}` stands in its place.",
        facts=(Fact(code(full), f"is {code(new)}{order}, which is installed"),),
        why="The library keeps the name to say that it is gone.",
        fixes=(
            Fix(
                f"Use `{new}`{order}{gives(full)}.",
                edit,
                NamesExist(asked, (new,), place, texts) if edit else None,
                "" if edit else "how what it gives back is used only you know",
            ),
        ),
        python_said=crash.said,
        about=crash.id,
    )


def gives(full: str) -> str:
    if full == "torch.solve":
        return "; it gives the solution alone, without the factors"
    return "" if full == "torch.matrix_rank" else "; what it gives back is another thing"


def given_first(statement: ast.stmt) -> list[ast.expr]:
    """What a statement gives its value to, or the first part of it."""
    targets = statement.targets[:1] if isinstance(statement, ast.Assign) else []
    return [one.elts[0] if isinstance(one, ast.Tuple) and one.elts else one for one in targets]


def called_anew(source: Source, call: ast.Call, full: str, new: str) -> Edit | None:
    """Where both are called alike, or the right side comes first and its second result is left."""
    statement = source.statement_of(call)
    text = f"{source.segment(call.func).rpartition('.')[0]}.{new.partition('.')[2]}"
    if full == "torch.matrix_rank":
        return replaced(source, call.func, text)
    target = statement.targets[0] if isinstance(statement, ast.Assign) else None
    pair = target.elts if isinstance(target, ast.Tuple) and len(target.elts) == 2 else []
    if full != "torch.solve" or len(call.args) != 2 or call.keywords or len(pair) != 2:
        return None
    if not isinstance(pair[1], ast.Name) or is_read(source, pair[1].id):
        return None
    right, matrix = map(source.segment, call.args)
    return replaced(source, statement, f"{source.segment(pair[0])} = {text}({matrix}, {right})")


def is_read(source: Source, name: str) -> bool:
    loads = (one for one in source.every(ast.Name) if isinstance(one.ctx, ast.Load))
    return any(one.id == name for one in loads)


def wanted_at(crash: Crash, frame: Frame, seen: Recording) -> Wanted | None:
    source = seen.source(frame.place)
    if source is None:
        return None
    statement = source.statement_at(frame.place.line or 0)
    if isinstance(statement, ast.ImportFrom) and crash.kind == "ImportError":
        if statement.level or not statement.module:
            return None
        names = tuple(alias.name for alias in statement.names)
        return Wanted(source, statement, statement.module, names, by_import=True)
    node = source.expression_at(frame.span) if frame.span else None
    if isinstance(node, ast.Call):
        node = node.func
    if crash.kind != "AttributeError" or not isinstance(node, ast.Attribute):
        return None
    module = source.imported(node.value)
    if module:
        names = tuple(one.attr for one in attributes_of(source, module))
        return Wanted(source, node, module, tuple(dict.fromkeys(names)), by_import=False)
    text = ast.unparse(node.value)
    if node.attr not in METHODS or not is_table(frame, text):
        return None
    return Wanted(source, node, text, (node.attr,), by_import=False, of_value=True)


def is_table(frame: Frame, text: str) -> bool:
    """Of pandas; an attribute that any other value lacks says nothing of versions."""
    kinds = ("DataFrame", "Series")
    return any(value.text == text and value.kind in kinds for value in frame.values)


def attributes_of(source: Source, module: str) -> Iterator[ast.Attribute]:
    """Every `module.name` of the file."""
    for node in source.every(ast.Attribute):
        if source.imported(node.value) == module:
            yield node


def question(crash: Crash, frame: Frame, wanted: Wanted) -> Question:
    known = [candidate for name in wanted.names for candidate in candidates(wanted, name)]
    about = {"names": list(wanted.names), "exist": list(dict.fromkeys(known))}
    if wanted.of_value:
        about |= {"frame": crash.frames.index(frame), "text": wanted.owner}  # type: ignore[dict-item]
    else:
        about |= {"module": wanted.owner}  # type: ignore[dict-item]
    return Question("names", crash.id, about)


def candidates(wanted: Wanted, name: str) -> list[str]:
    if wanted.of_value:
        return [f".{METHODS[name]}"] if METHODS.get(name) else []
    full = f"{wanted.owner}.{name}"
    known = [STANDS_FOR[full]] if full in STANDS_FOR else []
    same_package = wanted.owner.partition(".")[0] == "torch"
    return known + [f"{module}.{name}" for module in ELSEWHERE if not same_package]


def successor(wanted: Wanted, name: str, exist: Sequence[str], near: Sequence[str]) -> str:
    """What is known to stand in its place, or the same name in other letters."""
    same = [f"{wanted.owner}.{one}" for one in near if one.lower() == name.lower()]
    known = [one for one in candidates(wanted, name) if one in exist]
    return next(iter(known or same), "")


def headline(
    wanted: Wanted, missing: list[str], instead: dict[str, str], installed: str, owner: str
) -> str:
    names = spoken(map(code, missing))
    asked = f"a `{owner}`" if wanted.of_value else f"`{wanted.owner}`"
    said = f"{asked[0].upper()}{asked[1:]} of {installed} has no {names}"
    if len(missing) == 1 and instead[missing[0]]:
        return f"{said}: `{instead[missing[0]].lstrip('.')}` stands in its place."
    return f"{said}."


def facts(instead: dict[str, str], near: dict[str, list[str]]) -> Iterator[Fact]:
    for name, new in instead.items():
        alike = near.get(name, [])
        if new:
            own = "" if "." in new else ", Python's own"
            yield Fact(code(name), f"is `{new.lstrip('.')}`{own}, which is installed")
        elif alike:
            yield Fact(code(name), f"the nearest names are {spoken(map(code, alike))}")


def fix(
    wanted: Wanted, instead: dict[str, str], asked: Question | None, frame: Frame | None
) -> Fix:
    """`asked` and `frame` of a crash; None of a script that is only read."""
    said = [
        f"`{new.lstrip('.')}` in place of `{shown(wanted, name)}`"
        for name, new in instead.items()
        if new
    ]
    if len(said) < len(instead):
        gone = spoken(code(name) for name, new in instead.items() if not new)
        if wanted.of_value and "append" in instead and frame is not None:
            return joined(wanted, frame)
        absent = [one for name in instead for one in candidates(wanted, name)[:1]]
        if absent and not wanted.of_value and f"{wanted.owner}.{next(iter(instead))}" in STANDS_FOR:
            package = absent[0].partition(".")[0]
            return Fix(
                f"`{absent[0]}` took its place: `pip install {package}`, and `import {package}`.",
                why_not_tried=f"`{package}` is not installed here",
            )
        return Fix(
            f"Do without {gone}, or install the version of the library that the script was"
            " written for.",
            why_not_tried="nothing that does the same was found in what is installed",
        )
    edit = imported_anew(wanted, instead) if wanted.by_import else asked_anew(wanted, instead)
    if asked is None:
        return Fix(f"Use {spoken(said)}.", edit, why_not_tried=ONLY_READ)
    return Fix(
        f"Use {spoken(said)}.{without(wanted, instead)}",
        edit,
        must(wanted, instead, asked),
        "" if edit else "the name stands where it cannot be replaced alone",
    )


def without(wanted: Wanted, instead: dict[str, str]) -> str:
    """What is taken out with it, and what that did."""
    names = [one.arg for one in wanted.source.every(ast.keyword) if one.arg in UNKNOWN_TO_TORCH]
    if "correct_bias" not in names or not any(map(is_optimizer, instead.values())):
        return ""
    return " It takes no `correct_bias`: the bias of its averages is always corrected."


def must(wanted: Wanted, instead: dict[str, str], asked: Question) -> Condition:
    """The names are there, and what is made with them is as it must be."""
    statement = wanted.source.statement_of(wanted.node)
    place = Place(wanted.source.file, statement.lineno)
    texts = tuple(ast.unparse(one) for one in given_to(statement))
    exist = NamesExist(asked, tuple(instead.values()), place, texts)
    kinds = [new.rpartition(".")[2] for new in instead.values() if is_optimizer(new)]
    steps = [OptimizerSteps(kind) for kind in kinds if ".step(" in wanted.source.text]
    return All((exist, *steps)) if steps else exist


def is_optimizer(new: str) -> bool:
    module, _, name = new.rpartition(".")
    return module == "torch.optim" and name != "Optimizer"


def given_to(statement: ast.stmt) -> list[ast.expr]:
    """Names and attributes that a statement gives a value to."""
    found = statement.targets if isinstance(statement, ast.Assign) else []
    return [one for one in found if isinstance(one, ast.Name | ast.Attribute)]


def joined(wanted: Wanted, frame: Frame) -> Fix:
    """`pandas.concat` of the table and what was appended, which must be a table, too."""
    text = "Use `pandas.concat([table, rows], ignore_index=True)`, where `rows` is a table, too."
    source, statement = wanted.source, wanted.source.statement_of(wanted.node)
    call = source.parents[wanted.node]
    table = next((one for one in frame.values if one.text == wanted.owner), None)
    if not isinstance(call, ast.Call) or len(call.args) != 1 or table is None:
        return Fix(text, why_not_tried="what is appended was not found in your source")
    rows, count = appended_rows(call.args[0], frame)
    pandas = next((name for name in names_for(source, "pandas")), "")
    targets = given_to(statement)
    if not rows or not pandas or len(targets) != 1 or table.length is None:
        return Fix(
            text, why_not_tried="whether what is appended is one row or several only you know"
        )
    rows = rows.format(pandas=pandas, rows=source.segment(call.args[0]))
    others = "".join(f", {source.segment(one)}" for one in call.keywords)
    new = f"{pandas}.concat([{wanted.owner}, {rows}]{others})"
    place = Place(source.file, statement.lineno)
    return Fix(
        f"Use `{pandas}.concat`, which joins tables: what is appended becomes one, of"
        f" {counted(count, 'row')}.",
        replaced(source, call, new),
        RowsAdded(place, ast.unparse(targets[0]), table.length, count),
    )


def appended_rows(node: ast.expr, frame: Frame) -> tuple[str, int]:
    """How a table is made of it, and how many rows it has; nothing where that is not known."""
    value = next((one for one in frame.values if one.text == ast.unparse(node)), None)
    kind = "dict" if isinstance(node, ast.Dict) else value.kind if value else ""
    if kind == "dict":
        return "{pandas}.DataFrame([{rows}])", 1
    if kind == "Series":
        return "{rows}.to_frame().T.infer_objects()", 1
    if kind == "DataFrame" and value is not None and value.length is not None:
        return "{rows}", value.length
    return "", 0


def names_for(source: Source, module: str) -> Iterator[str]:
    """What the file calls a module that it imports."""
    for node in source.every(ast.Import):
        yield from (one.asname or one.name for one in node.names if one.name == module)


def shown(wanted: Wanted, name: str) -> str:
    return name if wanted.of_value or wanted.by_import else f"{wanted.owner}.{name}"


def imported_anew(wanted: Wanted, instead: dict[str, str]) -> Edit | None:
    """The import without these names, and one for each of them from where it is now."""
    source, statement = wanted.source, wanted.node
    if not isinstance(statement, ast.ImportFrom) or any("." not in new for new in instead.values()):
        return None
    lines = [
        f"from {new.rpartition('.')[0]} import {written(new, alias)}"
        for alias in statement.names
        if (new := instead.get(alias.name))
    ]
    kept = [alias for alias in statement.names if alias.name not in instead]
    if kept:
        lines.append(f"from {statement.module} import {', '.join(map(source.segment, kept))}")
    indent = " " * source.span(statement).column
    edit = replaced(source, statement, f"\n{indent}".join(lines))
    for alias in statement.names:
        if instead.get(alias.name, "").startswith("torch.optim."):
            edit = without_strange(source, edit, alias.asname or alias.name)
    return edit


def written(new: str, alias: ast.alias) -> str:
    """Under the name that the script has for it."""
    last, name = new.rpartition(".")[2], alias.asname or alias.name
    return last if last == name else f"{last} as {name}"


def without_strange(source: Source, edit: Edit, name: str) -> Edit:
    for call in source.every(ast.Call):
        strange = [one.arg for one in call.keywords if one.arg in UNKNOWN_TO_TORCH]
        if called(call) == name and len(strange) == 1 and strange[0]:
            edit = both(edit, argument_removed(source, call, strange[0]))
    return edit


def asked_anew(wanted: Wanted, instead: dict[str, str]) -> Edit | None:
    """Every place in the file that asks for one of the names."""
    source = wanted.source
    if wanted.of_value:
        nodes = [wanted.node] if isinstance(wanted.node, ast.Attribute) else []
    else:
        nodes = list(attributes_of(source, wanted.owner))
    edit = Edit(source.file, ())
    for node in nodes:
        new = instead.get(node.attr)
        if new:
            edit = both(edit, renamed(source, node, wanted.owner, new))
    return edit


def renamed(source: Source, node: ast.Attribute, owner: str, new: str) -> Edit:
    span = source.span(node)
    module, _, last = new.rpartition(".")
    if module in ("", owner) and (module or new.startswith(".")):
        start = span.end_column - len(node.attr)
        attribute = Span(span.end_line, start, span.end_line, span.end_column)
        return Edit(source.file, (Replace(attribute, last),))
    edit = replaced(source, node, last)
    return with_import(edit, source, module, last) if module else edit


@RULE.on(Script)
def a_name_is_gone(script: Script, seen: Recording) -> Iterator[Finding]:
    source = seen.source(script.file) if was_only_read(seen) else None
    if source is None:
        return
    for wanted in (*imports_without(source), *attributes_without(source)):
        if is_tried_first(source, wanted.node) or is_shadowed(package_of(wanted), source.file):
            continue
        instead = {name: there_now(wanted, name) for name in wanted.names}
        installed = f"{package_of(wanted)} {version(package_of(wanted))}".strip()
        yield RULE.finding(
            Place(source.file, wanted.node.lineno),
            headline(wanted, list(wanted.names), instead, installed, wanted.owner),
            facts=tuple(facts(instead, {})),
            why=f"{installed} is installed: another version had the name, or it is misspelled.",
            fixes=(fix(wanted, instead, None, None),),
            severity=Severity.WARNING,
        )


def package_of(wanted: Wanted) -> str:
    return wanted.owner.partition(".")[0]


def is_missing(owner: str, name: str) -> bool:
    """The source of the installed module has no such name; where it can have more than is written,
    the name must be known to be given up."""
    if name.startswith("__"):
        return False
    known = has_name(owner, name)
    if known is None and f"{owner}.{name}" in STANDS_FOR:
        return is_there(owner)
    return known is False


def imports_without(source: Source) -> Iterator[Wanted]:
    for node in source.every(ast.ImportFrom):
        if node.level or not node.module:
            continue
        names = [one.name for one in node.names if one.name != "*"]
        if not isinstance(source.scope_of(node), ast.Module):
            # Whoever imports late can have asked for the version before.
            names = [name for name in names if f"{node.module}.{name}" in STANDS_FOR]
        missing = tuple(name for name in names if is_missing(node.module, name))
        if missing:
            yield Wanted(source, node, node.module, missing, by_import=True)


def attributes_without(source: Source) -> Iterator[Wanted]:
    """The first of each name; the fix changes all of them."""
    modules = {
        alias.asname or alias.name for node in source.every(ast.Import) for alias in node.names
    }
    told: set[str] = set()
    for node in source.every(ast.Attribute):
        if not isinstance(node.value, ast.Name) or node.value.id not in modules:
            continue
        owner = source.imported(node.value)
        full = f"{owner}.{node.attr}"
        if not owner or full in told or not is_missing(owner, node.attr):
            continue
        told.add(full)
        if not is_given(source, owner, node.attr):
            yield Wanted(source, node, owner, (node.attr,), by_import=False)


def is_given(source: Source, owner: str, name: str) -> bool:
    """The file itself puts the name into the module, or asks first whether it is there."""
    every = [one for one in attributes_of(source, owner) if one.attr == name]
    return any(not isinstance(one.ctx, ast.Load) for one in every) or any(
        is_tried_first(source, one) for one in every
    )


def there_now(wanted: Wanted, name: str) -> str:
    """What is known to stand in its place, and is found in what is installed."""
    for one in candidates(wanted, name):
        owner, _, last = one.rpartition(".")
        known = has_name(owner, last) if owner else True
        if known is None and one == STANDS_FOR.get(f"{wanted.owner}.{name}"):
            known = is_there(owner)
        if known:
            return one
    return ""
