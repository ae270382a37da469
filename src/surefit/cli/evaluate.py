"""`surefit eval`."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from surefit.render import console

if TYPE_CHECKING:
    from surefit.recipes.trained import PartScore
    from surefit.settings import JsonValue


@dataclass(frozen=True, kw_only=True)
class Evaluate:
    """How rows are scored."""

    input_field: str | None = None
    """The column of the prompt; by default as in training."""

    target_field: str | None = None
    """The column of the answer; by default as in training."""

    text_field: str | None = None
    """The column of plain texts; by default as in training."""

    system: str | None = None
    """The system message for rows without one; by default that of the training rows, if they all
    had the same. An empty text means none."""

    skip_bad_rows: bool = False
    """Skip rows that cannot be used and report how many, instead of stopping."""

    predictions: Path | None = None
    """Write every row with its target, answer and F1 to this JSONL file."""


DEFAULTS = Evaluate()


def evaluate(
    run: Path, data: str, settings: Annotated[Evaluate, Parameter(name="*")] = DEFAULTS
) -> None:
    """Score a trained model on rows: token F1, exact match, loss and perplexity.

    surefit eval runs/sft-1 held-out.jsonl
    surefit eval runs/distill-1 texts.txt
    surefit eval runs/pretrain-1 arrays/         loss and accuracy on feature arrays

    Prompts are built as in training. Rows that the model was trained on are
    counted, and the remaining rows are scored separately.

    Parameters
    ----------
    run
        A run folder.
    data
        A JSONL, JSON, CSV or Parquet file, a `datasets` folder, a Hub dataset, or `embedded`.
        For a run of `surefit pretrain`, a folder of arrays.
    """
    from surefit.train.record import recipe_of, refuse_no_run

    refuse_no_run(run)
    if recipe_of(run) == "pretrain":
        _of_features(run, Path(data))
    else:
        _of_rows(run, data, settings)


def _of_rows(run: Path, data: str, settings: Evaluate) -> None:
    with console.importing():
        from surefit.recipes.trained import load_trained
    from surefit.render.console import say
    from surefit.render.outcome import add_part
    from surefit.writing import write_lines

    trained = load_trained(run)
    asked = {
        name.removesuffix("_field"): value
        for name in ("input_field", "target_field", "text_field")
        if (value := getattr(settings, name)) is not None
    }
    found = trained.score(
        data,
        replace(trained.fields, **asked),
        skip_bad_rows=settings.skip_bad_rows,
        system=settings.system,
    )
    if settings.predictions:
        write_lines(settings.predictions, found.predictions)
    say(f"{_figures(found.every)} over {found.every.rows} rows")
    add_part("score", _as_json(found.every))
    if found.in_training is None:
        say(
            "The run has no record of its training rows, so it is unknown whether these were "
            "among them."
        )
        return
    add_part("in_training", found.in_training)
    counted = f"{found.in_training} of {found.every.rows} rows were trained on"
    if found.others is not None:
        say(f"{counted}; on the other {found.others.rows}: {_figures(found.others)}")
        add_part("not_in_training", _as_json(found.others))
    elif found.in_training:
        say(f"{counted}: the score measures memorisation, not generalisation")
    else:
        say("None of the rows was trained on")


def _of_features(run: Path, data: Path) -> None:
    with console.importing():
        from surefit.recipes.trained_features import score_features
    from surefit.render.console import say
    from surefit.render.outcome import add_part
    from surefit.settings import as_dict

    found = score_features(run, data)
    accuracy = "" if found.accuracy is None else f", accuracy {found.accuracy:.4f}"
    say(
        f"Loss = {found.loss:.4f}{accuracy} over {found.steps:,} supervised steps of "
        f"{found.rows:,} rows ({found.objective})"
    )
    add_part("score", as_dict(found))


def _figures(part: "PartScore") -> str:
    loss = f"loss {part.loss.mean:.4f}, perplexity {part.loss}"
    if part.score is None:
        return f"{loss[0].upper()}{loss[1:]}"
    scored = part.score
    return f"Average F1 Score = {scored.f1:.4f}, exact match {scored.exact_match:.4f}, {loss}"


def _as_json(part: "PartScore") -> "dict[str, JsonValue]":
    from surefit.settings import as_dict

    scored = {} if part.score is None else as_dict(part.score)
    loss = {"loss": part.loss.mean, "perplexity": part.loss.value, "tokens": part.loss.places}
    return {**scored, "rows": part.rows, **loss}
