"""`surefit eval`."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter


@dataclass(frozen=True, kw_only=True)
class Evaluate:
    """How rows are scored."""

    input_field: str = "input"
    """The column that holds the prompt."""

    target_field: str = "target"
    """The column that holds the answer."""

    skip_bad_rows: bool = False
    """Go on without rows that cannot be used, and count them, instead of refusing."""

    predictions: Path | None = None
    """A JSONL file to write every row to, with its target, answer and F1."""


DEFAULTS = Evaluate()


def evaluate(
    run: Path, data: str, settings: Annotated[Evaluate, Parameter(name="*")] = DEFAULTS
) -> None:
    """Score a trained model on rows: token F1 and exact match.

    surefit eval runs/sft-1 held-out.jsonl

    Parameters
    ----------
    run
        The folder of a run.
    data
        Rows: a JSONL, JSON, CSV or Parquet file, a `datasets` folder, a hub name, or `embedded`.
    """
    from surefit.data.rows import Fields
    from surefit.recipes.trained import load_trained
    from surefit.render.console import say
    from surefit.render.outcome import add_part
    from surefit.settings import as_dict
    from surefit.writing import write_lines

    found = load_trained(run).score(
        data,
        Fields(settings.input_field, settings.target_field),
        skip_bad_rows=settings.skip_bad_rows,
    )
    if settings.predictions:
        write_lines(settings.predictions, found.predictions)
    say(
        f"Average F1 Score = {found.score.f1:.4f}, exact match {found.score.exact_match:.4f} "
        f"over {found.score.rows} rows"
    )
    add_part("score", as_dict(found.score))
