"""`surefit.inspect`: what a folder, an array, a batch, a loader or a model is."""

from collections.abc import Iterable, Iterator, Mapping, Sized
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from surefit.data.features.checks import check_dtype
from surefit.data.features.headers import Header, header_in_memory
from surefit.data.features.inspect_arrays import (
    Declared,
    Inspected,
    inspect_arrays,
    picture_of,
    seen_as,
    seen_plain,
)
from surefit.data.features.inspection import ArrayInspection, Fit
from surefit.data.features.layout import Kind, Layout
from surefit.data.features.probe import probe
from surefit.data.features.scenarios import Verdict, judge, stored_sample
from surefit.data.features.verdicts import findings
from surefit.doctor.findings import Fact, Finding, Fix, Place
from surefit.doctor.rule import refusal
from surefit.errors import WrongCall
from surefit.models.sizes import fits, misfits, read_sizes, sizes_of
from surefit.render import array_inspection, console, terminal
from surefit.render.html import report_html

UNKNOWN_THING = refusal(
    "SF045",
    "nothing-to-inspect",
    "The argument is not a folder, an array, a batch, a loader or a model.",
)

FEATURES = ("inputs_embeds", "features", "input_features", "x", "inputs", "data")
"""Names under which a batch holds its features; else its only array of two or more axes."""

BATCH = Path("batch")


@dataclass(frozen=True, slots=True)
class Looked(Inspected):
    """What was printed; a notebook shows in a few words what is given back beside that."""

    def _repr_html_(self) -> str:
        counts = {"rows": self.seen.rows, "bytes": self.seen.bytes, "findings": len(self.findings)}
        return report_html(f"surefit.inspect: {self.seen.source}", counts)


def inspect(
    thing: object,
    *,
    steps: int | None = None,
    features: int | None = None,
    dtype: str | None = None,
    kind: str | None = None,
    model: object = None,
    batch_size: int = 256,
    max_memory_gb: float = 12.0,
    quiet: bool = False,
) -> Looked:
    """Inspects a folder, array, batch, loader or model; prints and returns what it finds.

    An error is raised only if there is nothing to inspect. One batch is taken from a loader;
    `model` is a module, a folder or a `config.json`.
    """
    declared = Declared(steps, features, dtype, Kind(kind) if kind else None)
    found = _look(thing, declared)
    if model is not None or _is_module(thing):
        found = _beside(found, thing if model is None else model, batch_size, max_memory_gb)
    if not quiet:
        array_inspection.show(found.seen, console.out)
        terminal.show(found.findings, console.out)
    return Looked(found.seen, found.findings, found.layout, found.shards)


def _look(thing: object, declared: Declared) -> Inspected:
    if isinstance(thing, str | Path):
        return inspect_arrays(Path(thing), declared, verify=True)
    if _is_module(thing):
        layout = declared.layout(None, "float32")
        declares = str(layout) if layout else None
        return Inspected(ArrayInspection(type(thing).__name__, declares, None, 0, ()), (), layout)
    array = _as_array(thing)
    if array is not None:
        return _array("array", array, declared)
    if isinstance(thing, Mapping | tuple | list):
        return _batch(thing, declared)
    if isinstance(thing, Iterable):
        return _loader(thing, declared)
    raise WrongCall(_unknown(thing))


def _array(name: str, array: "np.ndarray", declared: Declared) -> Inspected:
    header = header_in_memory(name, array)
    layout = declared.layout(None, header.dtype.name)
    if layout is None:
        return _undeclared(header)
    verdict = judge(header, layout)
    wrong = [*check_dtype(header, layout, BATCH), *findings((verdict,), layout, BATCH)]
    wrong = [_in_memory(one, verdict, layout) for one in wrong]
    if verdict.reading:
        wrong += verdict.faults
    shown = () if verdict.sample is None or not len(verdict.sample) else (picture_of(verdict, 0),)
    seen = ArrayInspection(
        source=name,
        declared=str(layout),
        rows=verdict.reading.rows if verdict.reading else None,
        bytes=header.size,
        shards=(seen_as(verdict),),
        pictures=shown,
    )
    return Inspected(seen, tuple(wrong), layout)


def _undeclared(header: Header) -> Inspected:
    rows = stored_sample(header)
    shard = seen_plain(header, None if rows is None else probe(rows))
    return Inspected(ArrayInspection(header.name, None, None, header.size, (shard,)), ())


def _batch(batch: object, declared: Declared) -> Inspected:
    named = dict(batch.items() if isinstance(batch, Mapping) else enumerate(batch))  # type: ignore[arg-type]
    arrays = {str(name): _as_array(value) for name, value in named.items()}
    known = {name: value for name, value in arrays.items() if value is not None}
    name = next((one for one in FEATURES if one in known), None)
    wide = [one for one, value in known.items() if value.ndim > 1 and value.dtype.kind == "f"]
    name = name or (wide[0] if wide else None)
    if name is None:
        raise WrongCall(_unknown(batch))
    found = _array(f"batch[{name!r}]", known[name], declared)
    others = tuple(_others(known, name))
    wrong = (*found.findings, *_mask_faults(known, found.layout))
    return replace(found, seen=replace(found.seen, notes=others), findings=wrong)


def _others(arrays: Mapping[str, "np.ndarray"], features: str) -> Iterator[str]:
    for name, value in arrays.items():
        if name != features:
            yield f"beside it: {name} {list(value.shape)} {value.dtype.name}"


def _mask_faults(arrays: Mapping[str, "np.ndarray"], layout: Layout | None) -> Iterator[Finding]:
    mask = arrays.get("attention_mask")
    if mask is None or layout is None or mask.shape[1:] == (layout.steps,):
        return
    from surefit.models.sizes import DOES_NOT_FIT

    yield DOES_NOT_FIT.finding(
        Place("batch['attention_mask']"),
        f"The mask is {list(mask.shape)}, and rows have {layout.steps} steps.",
        why="A mask of ones of the wrong length goes unnoticed in some attention backends.",
        fixes=(Fix(f"Make it [batch, {layout.steps}], a position for every step."),),
    )


def _loader(loader: Iterable[object], declared: Declared) -> Inspected:
    found = _look(next(iter(loader)), declared)
    size = f", {len(loader):,} batches" if isinstance(loader, Sized) else ""
    name = type(loader).__name__
    seen = replace(found.seen, source=f"{name}{size}, its first batch: {found.seen.source}")
    return replace(found, seen=seen)


def _beside(found: Inspected, model: object, batch_size: int, max_memory_gb: float) -> Inspected:
    sizes = read_sizes(str(model)) if isinstance(model, str | Path) else sizes_of(model)
    if found.layout is None:
        said = f"`{sizes.projection_name}` takes {sizes.projection} features"
        return replace(found, seen=replace(found.seen, fits=(Fit("projection", said, None),)))
    lines = fits(sizes, found.layout, batch_size, max_memory_gb)
    wrong = (*found.findings, *misfits(sizes, found.layout, lines))
    return replace(found, seen=replace(found.seen, fits=lines), findings=wrong)


IN_MEMORY = {
    "flattened": "x.reshape(-1, {steps}, {features})",
    "flattened-transposed": "x.reshape(-1, {features}, {steps}).swapaxes(1, 2)",
    "swapped": "x.swapaxes(1, 2)",
    "batched": "x.reshape(-1, {steps}, {features})",
    "extra-axis": "x.reshape(-1, {steps}, {features})",
    "merged": "x.reshape(-1, {steps}, {features})",
    "merged-steps-first": "x.reshape({steps}, -1, {features}).swapaxes(0, 1)",
    "unbatched": "x[None]",
    "unbatched-swapped": "x.swapaxes(0, 1)[None]",
    "steps-rows-features": "x.swapaxes(0, 1)",
}
"""How rows are made of an array that is read in this way."""


def _in_memory(finding: Finding, verdict: Verdict, layout: Layout) -> Finding:
    """Of what is in no file there is nothing to write anew: the line of code to change is told."""
    ways = (verdict.reading,) if verdict.reading else verdict.open
    fixes = [one for one in finding.fixes if "--mend-to" not in one.text]
    for one in ways:
        code = IN_MEMORY.get(one.word, "its values are in wrong places")
        code = code.format(steps=layout.steps, features=layout.features)
        begin = "Where it is made" if verdict.reading else f"If it is {one.says}"
        fixes.append(Fix(f"{begin}:  {code}"))
    facts = tuple(
        one if one.name != "in the file" else Fact("here", one.value) for one in finding.facts
    )
    return replace(finding, fixes=tuple(fixes), facts=facts)


def _as_array(value: object) -> "np.ndarray | None":
    if isinstance(value, np.ndarray):
        return value
    if type(value).__module__.partition(".")[0] != "torch" or not hasattr(value, "detach"):
        return None
    tensor: Any = value
    held = tensor.detach().cpu()
    try:
        return np.asarray(held.numpy())
    except TypeError:  # bfloat16: NumPy has none, and every value is one of float32
        return np.asarray(held.float().numpy())


def _is_module(thing: object) -> bool:
    return hasattr(thing, "named_modules") and hasattr(thing, "parameters")


def _unknown(thing: object) -> Finding:
    return UNKNOWN_THING.finding(
        Place("surefit.inspect"),
        f"A `{type(thing).__name__}` holds no features that are known as such.",
        facts=(Fact("looked for in a batch", ", ".join(FEATURES)),),
        fixes=(Fix("Give a folder, an array or tensor, a batch, a loader or a model."),),
    )
