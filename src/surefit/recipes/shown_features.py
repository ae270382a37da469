"""What the page of a pretraining shows of its rows: layout, shares, some as the model sees them."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from surefit.data.features.layout import Kind
from surefit.doctor.findings import Fact
from surefit.doctor.words import counted
from surefit.render.page.contents import DataShown, RowShown, TokenSpan

from .pretrain_settings import FeaturePretraining

if TYPE_CHECKING:
    import torch

    from surefit.data.features.loaders import FeatureData

ROWS = 4
STEPS = 96
"""Of a row that are shown."""
NUMBERS = 3
"""Of a step that are shown."""


def shown_features(
    settings: FeaturePretraining,
    data: "FeatureData",
    first: Mapping[str, Any],
    identity: Mapping[str, str],
) -> DataShown:
    """`first`: what the loss is given for the first batch."""
    real = first["attention_mask"].bool().cpu()
    supervised = (
        first["masked"].bool().cpu() if "masked" in first else after_the_first(real)
    ) & real
    layout, files = replace(data.layout, kind=None), counted(len(data.shards.shards), "file")
    return DataShown(
        facts=(
            Fact("source", settings.data),
            Fact("rows", f"{layout}, {data.kind}, in {files}"),
            Fact("training rows", f"{data.split.trained:,}"),
            Fact("held-out rows", f"{data.split.held_out:,}"),
            Fact("loss", "the next step of each" if settings.causal else "masked steps"),
        ),
        unit="steps",
        supervised_share=float(supervised.sum()) / float(real.sum()),
        padding_share=1 - float(real.float().mean()),
        rows=tuple(shown_rows(first["inputs_embeds"].cpu(), real, supervised, data.kind)),
        fingerprints=tuple(Fact(name, value) for name, value in identity.items()),
    )


def after_the_first(real: "torch.Tensor") -> "torch.Tensor":
    """Every step but the first has one before it to be foretold from."""
    supervised = real.clone()
    supervised[:, 0] = False
    return supervised


def shown_rows(
    values: "torch.Tensor", real: "torch.Tensor", supervised: "torch.Tensor", kind: Kind
) -> Iterator[RowShown]:
    for number in range(min(ROWS, len(values))):
        steps = int(real[number].sum())
        spans = tuple(
            TokenSpan(shown_step(values[number][step], kind), bool(supervised[number][step]))
            for step in range(min(STEPS, values.shape[1]))
            if real[number][step]
        )
        counted = f"{steps} steps, {int(supervised[number].sum())} supervised"
        more = "" if steps <= STEPS else f", the first {STEPS} shown"
        yield RowShown(f"row {number + 1} of the first batch", spans, counted + more)


def shown_step(step: "torch.Tensor", kind: Kind) -> str:
    """An index, the indices that are set, or the first numbers."""
    if step.ndim == 0:
        return f" {int(step)} "
    if kind in (Kind.ONE_HOT, Kind.MULTI_HOT):
        places = step.nonzero().flatten().tolist()
        shown = ",".join(map(str, places[:NUMBERS]))
        return f" {shown}{'…' if len(places) > NUMBERS else ''} "
    numbers = " ".join(f"{value:.2f}" for value in step[:NUMBERS].tolist())
    return f" [{numbers}{' …' if len(step) > NUMBERS else ''}] "
