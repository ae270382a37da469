"""Mistakes by which a reported number is not its metric: in words, and when they are certain."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Mistake:
    """See `surefit/doctor/scoring/variants.py`, which computes what each gives."""

    is_what: str
    """After `it is`."""
    advice: str
    rule: str
    """Of which rule it is."""
    by_digits: bool = False
    """Nobody means it: where its digits are those that were printed, no source is needed."""
    share: float = 0.01
    """By which the number must be off, at every evaluation."""
    meant: str = ""
    """Words before a number by which it is meant so."""


AVERAGE = "wrong-average"
OF_ONE_BATCH = r"last|final|first|batch|current|step|debug"

MISTAKES: dict[str, Mistake] = {
    "argmax over everything": Mistake(
        is_what="what an argmax over all rows and classes at once gives",
        advice="Name the axis of classes: `dim=-1`.",
        rule="argmax-over-everything",
    ),
    "argmax over one column": Mistake(
        is_what="what an argmax over an axis of size 1 gives, which is always 0",
        advice="Compare the logit with 0, in place of the argmax.",
        rule="argmax-over-everything",
    ),
    "argmax over another axis": Mistake(
        is_what="what an argmax over another axis than that of the classes gives",
        advice="Name the axis of classes.",
        rule="argmax-over-everything",
        by_digits=True,
    ),
    "divided in the loop": Mistake(
        is_what="what a sum gives that is divided at every batch, inside the loop",
        advice="Divide once, after the loop.",
        rule="sum-divided-in-the-loop",
        by_digits=True,
    ),
    "compared with every row": Mistake(
        is_what="what comparing each row with every other row gives (broadcasting)",
        advice="Give predictions and targets the same shape: `.squeeze(-1)`.",
        rule="compared-with-other-rows",
        by_digits=True,
    ),
    "logits above one half": Mistake(
        is_what="what logits above 0.5 give, as if they were probabilities",
        advice="Compare the logits with 0.",
        rule="compared-with-other-rows",
    ),
    "compared one position on": Mistake(
        is_what="what predictions give that are compared with the target one position further on",
        advice="Compare each prediction with the target that its loss has.",
        rule="compared-with-other-rows",
        by_digits=True,
    ),
    "compared one position before": Mistake(
        is_what="what predictions give that are compared with the target one position before",
        advice="Compare each prediction with the target that its loss has.",
        rule="compared-with-other-rows",
        by_digits=True,
    ),
    "not shifted": Mistake(
        is_what="what predictions give that are compared with the token they were made from, where"
        " the model's loss compares them with the next one",
        advice="Compare `logits[:, :-1]` with `labels[:, 1:]`.",
        rule="compared-with-other-rows",
        by_digits=True,
    ),
    "mean of batch means": Mistake(
        is_what="the mean of its values for each batch, not the value over all rows",
        advice="Weigh each batch by the number of its labels.",
        rule="mean-of-batch-means",
        by_digits=True,
        share=0.05,
    ),
    "last batch": Mistake(
        is_what="that of the last batch alone",
        advice="Add up over all batches in the loop: this is the metric of the last batch only.",
        rule=AVERAGE,
        meant=OF_ONE_BATCH + r"|worst|best|max|min",
    ),
    "first batch": Mistake(
        is_what="that of the first batch alone",
        advice="Add up over all batches: only the first one is counted.",
        rule=AVERAGE,
        meant=OF_ONE_BATCH + r"|worst|best|max|min",
    ),
    "sum of batch means": Mistake(
        is_what="the sum of its values for each batch, which is never divided",
        advice="Divide by the number of batches, or count over all rows.",
        rule=AVERAGE,
        by_digits=True,
        meant=r"sum|total",
    ),
    "last batch over all rows": Mistake(
        is_what="the last batch alone, divided by all rows",
        advice="Add up over all batches: only the last batch is counted.",
        rule=AVERAGE,
        meant=OF_ONE_BATCH,
    ),
    "all rows over the last batch": Mistake(
        is_what="all rows, divided by the size of the last batch",
        advice="Divide by the number of all rows, not of the last batch.",
        rule=AVERAGE,
    ),
    "batches over rows": Mistake(
        is_what="a sum of means of batches, divided by the number of rows",
        advice="Divide by the number of batches: what is added up are means of batches.",
        rule=AVERAGE,
    ),
    "rows over batches": Mistake(
        is_what="a sum over rows, divided by the number of batches",
        advice="Divide by the number of rows, not by the number of batches.",
        rule=AVERAGE,
    ),
    "full batches counted": Mistake(
        is_what="a count divided by full batches, though the last one is smaller",
        advice="Divide by the number of rows: the last batch is smaller.",
        rule=AVERAGE,
    ),
    "ignored labels counted": Mistake(
        is_what="a count divided by all labels, ignored ones too",
        advice="Leave ignored labels (-100) out of the count.",
        rule=AVERAGE,
    ),
    "not reset": Mistake(
        is_what="what a sum gives that is not reset between evaluations",
        advice="Set the sum to zero before each evaluation: it is never reset.",
        rule=AVERAGE,
    ),
    "evaluation before": Mistake(
        is_what="that of the evaluation before this one",
        advice="Report what this evaluation gave, after it was made.",
        rule="metric-of-an-earlier-evaluation",
        by_digits=True,
        meant=r"best|prev|last|before|old|initial|start|base|max|min|ema|avg|average|running",
    ),
    "decisions for scores": Mistake(
        is_what="what decisions give, 0 or 1 for each row, in the place of scores",
        advice="Give the metric the scores, logits or probabilities, before they are compared with"
        " a threshold.",
        rule="metric-of-decisions",
        by_digits=True,
    ),
    "arguments swapped": Mistake(
        is_what="what targets and predictions give in each other's place",
        advice="Swap the two arguments of the metric.",
        rule="metric-under-another-name",
        by_digits=True,
    ),
}
IS_ANOTHER = "is the "


def mistake_of(variant: str) -> Mistake:
    if variant.startswith(IS_ANOTHER):
        other = variant.removeprefix(IS_ANOTHER)
        return Mistake(
            is_what=f"the {other}",
            advice=f"Report it as what it is, the {other}, or compute the other.",
            rule="metric-under-another-name",
            by_digits=True,
        )
    return MISTAKES[variant]


ONCE_WRONG = ("not reset", "evaluation before")
"""The first evaluation is right, or there is none before it."""
