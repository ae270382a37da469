"""`surefit ask`."""

from pathlib import Path


def ask(run: Path, text: str) -> None:
    """Ask a trained model one question.

    surefit ask runs/sft-1 "Mara Lind lent 40 crowns to Otto Berg. Who has to pay?"

    Parameters
    ----------
    run
        The folder of a run.
    text
        The prompt, as it would stand in the `input` of a row.
    """
    from surefit.recipes.trained import load_trained

    print(load_trained(run).ask(text))
