"""A run that ends as if it had succeeded, and whose model is no better than before."""

from collections.abc import Sequence

from surefit.doctor.findings import Fact, Finding, Fix, Place
from surefit.doctor.rule import refusal

NOTHING_GAINED = refusal(
    "SF188",
    "nothing-gained",
    "After training, the model is no better on held-out rows than before.",
)
ENOUGH_STEPS = 20
"""After which something must have been gained."""


def nothing_gained(folder: str, headline: str, facts: Sequence[Fact], longer: str) -> Finding:
    """`longer` is the flag that makes a run longer."""
    return NOTHING_GAINED.finding(
        Place(folder),
        headline,
        facts=facts,
        why="On held-out rows the trained weights are no better than the initial weights. They are "
        "saved, but not worth using.",
        fixes=[
            Fix(f"Check the losses and predictions in {folder}/report.html."),
            Fix(f"Train longer (`{longer}`) or with another `--learning-rate`."),
        ],
    )
