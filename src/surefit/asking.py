"""`surefit.eval` and `surefit.ask`: what the commands of these names do, from Python."""

from dataclasses import dataclass
from pathlib import Path

from surefit.data.in_memory import ENDING, GivenRows, store_rows
from surefit.data.rows import Fields
from surefit.data.working_folder import working_folder
from surefit.metrics.evaluation import Evaluation
from surefit.recipes.trained import load_trained


@dataclass(frozen=True, slots=True)
class ModelAnswer:
    """What a trained model answered; printed, it is the answer."""

    text: str
    """The answer, without the token that ends it."""

    question: str
    """What was asked."""

    run: str
    """The folder of the run that answered."""

    def __str__(self) -> str:
        return self.text


def ask(run: str | Path, text: str) -> ModelAnswer:
    """Asks a trained model one question: `surefit.ask("runs/sft-1", "Who has to pay?")`.

    run
        The folder of a run.
    text
        The prompt, as it would stand in the `input` of a row.
    """
    return ModelAnswer(load_trained(Path(run)).ask(text), text, str(run))


def evaluate(
    run: str | Path,
    data: GivenRows,
    *,
    input_field: str = "input",
    target_field: str = "target",
    skip_bad_rows: bool = False,
) -> Evaluation:
    """Scores a trained model on rows: `surefit.eval("runs/sft-1", "held-out.jsonl").score.f1`.

    run
        The folder of a run.
    data
        Rows: a file, a folder, a hub name, `embedded`, or rows in memory.
    input_field, target_field
        The columns that hold the prompt and the answer.
    skip_bad_rows
        Go on without rows that cannot be used, instead of refusing.
    """
    trained = load_trained(Path(run))
    fields = Fields(input_field, target_field)
    if isinstance(data, str | Path):
        return trained.score(str(data), fields, skip_bad_rows=skip_bad_rows)
    with working_folder() as work:
        stored = work / f"data{ENDING}"
        store_rows(data, stored)
        return trained.score(str(stored), fields, skip_bad_rows=skip_bad_rows)
