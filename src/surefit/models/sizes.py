"""Sizes of a model that its data must fit: from a config, a folder, or a live module."""

from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any

import msgspec

from surefit.data.features.inspection import Fit
from surefit.data.features.layout import Layout
from surefit.did_you_mean import suggestion
from surefit.doctor.findings import Fact, Finding, Fix, Place
from surefit.doctor.rule import refusal
from surefit.errors import refused_as
from surefit.user_files import open_plain, read_plain

DOES_NOT_FIT = refusal(
    "SF046",
    "model-does-not-fit-data",
    "A model and the declared layout of its data disagree, or its sizes cannot be read.",
)

LARGEST_CONFIG = 1 << 26
WIDTHS = ("hidden_size", "d_model", "n_embd", "dim")
POSITIONS = ("max_position_embeddings", "n_positions", "max_seq_len")
PROJECTIONS = ("projection", "feature_projection", "input_projection", "input_proj", "proj_in")
"""Names under which a layer that takes features is known."""

BYTES_OF_A_WEIGHT = 16
"""In training with AdamW in float32: the weight, its gradient and two moments."""


@dataclass(frozen=True, slots=True)
class Sizes:
    """What is known of a model; None where nothing says it."""

    name: str
    hidden: int | None = None
    positions: int | None = None
    projection: int | None = None
    """How many features its first layer takes."""

    projection_name: str = ""
    steps: int | None = None
    """For which rows it was made, where it says so."""

    weights: int | None = None


def read_sizes(model: str) -> Sizes:
    """Of a folder with `config.json`, or of such a file; weights are not loaded."""
    path = Path(model)
    if (path / "model" / "config.json").is_file():  # the folder of a run
        path = path / "model"
    config = path / "config.json" if path.is_dir() else path
    with refused_as(lambda error: _no_sizes(model, config, error)):
        whole = msgspec.json.decode(read_plain(config, LARGEST_CONFIG), type=dict[str, Any])
        return _sizes_in(model, path, whole)


def _sizes_in(model: str, path: Path, whole: dict[str, Any]) -> Sizes:
    inner = {**whole, **(whole.get("encoder") or {}), **(whole.get("text_config") or {})}
    shapes = _stored_shapes(path) if path.is_dir() else {}
    name, width = _projection({one: shape[-1] for one, shape in shapes.items() if len(shape) == 2})
    return Sizes(
        name=model,
        hidden=_first(inner, WIDTHS),
        positions=_first(inner, POSITIONS),
        projection=width or _whole(whole.get("features")),
        projection_name=name or ("features in its config" if whole.get("features") else ""),
        steps=_whole(whole.get("steps")),
        weights=sum(prod(shape) for shape in shapes.values()) or None,
    )


def sizes_of(module: Any) -> Sizes:
    """Of a live module: the layer that is called a projection, else its first linear layer."""
    from torch import nn

    linear = {
        f"{name}.weight": one.in_features
        for name, one in module.named_modules()
        if isinstance(one, nn.Linear)
    }
    name, width = _projection(linear)
    if not name and linear:
        first, width = next(iter(linear.items()))
        name = first.removesuffix("weight").removesuffix(".") or type(module).__name__
    config: Any = getattr(module, "config", None)
    known = config.to_dict() if hasattr(config, "to_dict") else {}
    inner = {**known, **(known.get("encoder") or {})}
    return Sizes(
        name=type(module).__name__,
        hidden=_first(inner, WIDTHS),
        positions=_first(inner, POSITIONS),
        projection=width,
        projection_name=name,
        steps=_whole(known.get("steps")),
        weights=sum(one.numel() for one in module.parameters()),
    )


def fits(sizes: Sizes, layout: Layout, batch_size: int, max_memory_gb: float) -> tuple[Fit, ...]:
    """The layout against the model, one line for each thing, with its numbers."""
    steps, features = layout.shape
    found = [_projection_fits(sizes, features), _positions_fit(sizes, steps)]
    if sizes.steps is not None:
        said = f"made for rows of {sizes.steps} steps; {steps} are declared"
        found.append(Fit("steps", said, sizes.steps == steps))
    found.append(Fit("mask", f"[{batch_size}, {steps}]: a position for every step", None))
    batch = batch_size * steps * features * 4
    said = f"{batch_size} x {steps} x {features} x 4 bytes = {_size(batch)}"
    most = max_memory_gb * 1e9
    fitting = f"; {int(most // batch):,} of them in {max_memory_gb:g} GB"
    found.append(Fit("one batch", said + fitting, batch <= most))
    if sizes.weights:
        held = sizes.weights * BYTES_OF_A_WEIGHT
        said = f"{sizes.weights:,} weights, with gradients and AdamW in float32 {_size(held)}"
        found.append(Fit("model", f"{said}, plus activations", None))
    return tuple(found)


def misfits(sizes: Sizes, layout: Layout, found: tuple[Fit, ...]) -> tuple[Finding, ...]:
    """All that does not fit, as one finding."""
    wrong = [one for one in found if one.fits is False]
    if not wrong:
        return ()
    return (
        DOES_NOT_FIT.finding(
            Place(sizes.name),
            f"`{sizes.name}` does not fit rows of {layout}: {wrong[0].said}.",
            facts=tuple(Fact(one.name, one.said) for one in wrong),
            why="A layer that is resized to fit would be new, outside of the optimizer, and would"
            " take whatever arrives."
            if wrong[0].name == "projection"
            else "",
            fixes=(
                Fix("If the layout is right, make the model for it, before its optimizer."),
                Fix("If the model is right, these are other data: give it those it was made for."),
            ),
        ),
    )


def _projection_fits(sizes: Sizes, features: int) -> Fit:
    if sizes.projection is None:
        width = f" to its width, {sizes.hidden}" if sizes.hidden else ""
        return Fit("projection", f"none yet: nn.Linear({features}, ...){width}", None)
    said = f"`{sizes.projection_name}` takes {sizes.projection} features; {features} are declared"
    return Fit("projection", said, sizes.projection == features)


def _positions_fit(sizes: Sizes, steps: int) -> Fit:
    if sizes.positions is None:
        return Fit("positions", "its config names no limit", None)
    said = f"{steps} steps, and the model has {sizes.positions} positions"
    return Fit("positions", said, steps <= sizes.positions)


def _projection(widths: dict[str, int]) -> tuple[str, int | None]:
    for name, width in widths.items():
        parts = name.split(".")
        if len(parts) > 1 and parts[-1] == "weight" and parts[-2] in PROJECTIONS:
            return name.removesuffix(".weight"), width
    return "", None


def _stored_shapes(folder: Path) -> dict[str, tuple[int, ...]]:
    """Of every stored weight, from the headers of its files."""
    found: dict[str, tuple[int, ...]] = {}
    for file in sorted(folder.glob("*.safetensors")):
        try:
            with open_plain(file) as opened:
                length = int.from_bytes(opened.read(8), "little")
                header = msgspec.json.decode(opened.read(min(length, 100_000_000)))
        except (OSError, msgspec.MsgspecError, RecursionError):
            continue  # whoever loads the weights will say so
        found |= {
            name: tuple(one["shape"]) for name, one in header.items() if name != "__metadata__"
        }
    return found


def _first(config: dict[str, Any], names: tuple[str, ...]) -> int | None:
    return next((_whole(config[name]) for name in names if name in config), None)


def _whole(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _size(count: float) -> str:
    for unit in ("bytes", "kB", "MB", "GB"):
        if count < 1000 or unit == "GB":
            return f"{count:,.0f} bytes" if unit == "bytes" else f"{count:.3g} {unit}"
        count /= 1000
    return ""


def _no_sizes(model: str, config: Path, error: Exception) -> Finding:
    folder = config.parent
    beside = [path.name for path in folder.iterdir()] if folder.is_dir() else []
    return DOES_NOT_FIT.finding(
        Place(model),
        f"The sizes of `{model}` cannot be read.{suggestion(config.name, beside)}",
        facts=(Fact("looked for", str(config)),),
        fixes=(Fix("Give the folder of a model, or its `config.json`."),),
        python_said=f"{type(error).__name__}: {error}",
    )
