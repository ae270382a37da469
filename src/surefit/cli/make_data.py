"""`surefit make-data`."""

from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from surefit.render import console
from surefit.settings import at_least, check


@dataclass(frozen=True)
class MadeFeatures:
    """Rows to generate."""

    what: Literal["features"] = "features"
    """What to generate; only feature sequences so far."""

    _: KW_ONLY

    out: Path = Path("features")
    """The folder to write; it must be empty or absent."""

    rows: int = 5000
    """Number of rows."""

    steps: int = 20
    """Steps per row."""

    features: int = 271
    """Features per step."""

    kind: Literal["one-hot", "multi-hot", "continuous"] = "one-hot"
    """The kind of features."""

    files: int = 4
    """Number of files to split the rows into."""

    seed: int = 0
    """Random seed of the source and the rows."""

    def __post_init__(self) -> None:
        check(
            self,
            rows=at_least(1),
            steps=at_least(2),
            features=at_least(2),
            files=at_least(1),
            seed=at_least(0),
        )


DEFAULTS = MadeFeatures()


def make_data(settings: Annotated[MadeFeatures, Parameter(name="*")] = DEFAULTS) -> None:
    """Generate learnable feature rows with a known best possible loss.

    surefit make-data features --rows 5000 --out DIR
    surefit make-data features --kind continuous --steps 50 --features 16 --out DIR
    """
    from surefit.data.features.layout import Kind
    from surefit.data.features.make import Source, make_features
    from surefit.train.record import check_free

    check_free(settings.out)
    source = Source(
        steps=settings.steps,
        features=settings.features,
        kind=Kind(settings.kind),
        seed=settings.seed,
    )
    with console.progress("Generating rows", settings.rows) as bar:
        make_features(settings.out, source, settings.rows, settings.files, bar.step)
    size = settings.rows * source.layout.row_bytes
    console.say(f"{settings.out}: {settings.rows:,} rows {source.layout}, {size / 1e6:,.1f} MB")
    sample = source.draw(min(settings.rows, 512), 0)
    best = source.best_loss(sample, None)
    console.say(
        f"Best possible loss when predicting the next step: {best:.4f}, computed from the source"
    )
    console.say(f"Train on it:  surefit pretrain --data {settings.out}")
