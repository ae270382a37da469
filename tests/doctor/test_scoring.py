"""Metrics by their formulas, and what known mistakes give."""

import math

import pytest
import torch

from surefit.doctor.scoring.counts import ScoreCounts, together
from surefit.doctor.scoring.labels import named_by
from surefit.doctor.scoring.metrics import METRICS
from surefit.doctor.scoring.variants import Evaluated, metrics_of, other_metrics, rights, wrongs
from surefit.observe.inside.measuring import readings


def batch(guess: list[int], target: list[int], classes: int = 2) -> readings.Readings:
    logits = torch.eye(classes)[torch.tensor(guess)]
    return readings.of_classes(logits, torch.tensor(target))


def evaluation(*every: readings.Readings, kind: str = "classes") -> Evaluated:
    known = Evaluated(kind, batches=[read[readings.RIGHT] for read in every])
    for read in every:
        for mistake, counts in read.items():
            if mistake:
                known.readings.setdefault(mistake, []).append(counts)
    return known


def value(metric: str, counts: ScoreCounts) -> float:
    return next(known for known in METRICS if known.name == metric).formula(counts)


def wrong(known: Evaluated, variant: str, metric: str) -> list[float]:
    named = metrics_of(known.kind, frozenset((metric,)))
    return [found.value for found in wrongs(known, named) if found.variant == variant]


def test_scores_of_all_rows_and_of_batches() -> None:
    known = evaluation(batch([1, 1, 0, 0], [1, 0, 0, 0]), batch([0, 0, 0, 0], [0, 0, 0, -100]))
    assert value("F1 of class 1", together(known.batches)) == pytest.approx(2 / 3)
    assert wrong(known, "mean of batch means", "F1 of class 1") == pytest.approx([1 / 3])
    assert wrong(known, "last batch", "F1 of class 1") == [0]


def test_a_column_of_logits_has_two_classes_and_scores() -> None:
    read = readings.of_classes(torch.tensor([2.0, -1.0, 0.3]), torch.tensor([1.0, 0.0, 0.0]))
    assert read[readings.RIGHT].table == ((1, 2, 1), (2, 1, 1))
    assert value("area under the curve", read[readings.RIGHT]) == 1
    assert value("area under the curve", read["decisions for scores"]) == 0.75
    assert value("accuracy", read["logits above one half"]) == 1


def test_accuracies_of_batches_of_unequal_size() -> None:
    known = evaluation(batch([1, 1, 1], [1, 1, 1]), batch([0], [1]))
    found = {right.metric: right.value for right in rights(known, metrics_of("classes", None))}
    assert (found["accuracy"], found["accuracy over batches"]) == (0.75, 0.5)
    assert wrong(known, "mean of batch means", "accuracy") == [0.5]
    assert wrong(known, "sum of batch means", "accuracy") == [1]
    assert wrong(known, "rows over batches", "accuracy") == [1.5]


def test_ranks_and_exact_matches() -> None:
    logits = torch.tensor([[0.1, 0.5, 0.4], [0.6, 0.3, 0.1], [0.2, 0.3, 0.5]])
    read = readings.of_classes(logits, torch.tensor([2, 0, 0]))[readings.RIGHT]
    assert value("top 2", read) == pytest.approx(2 / 3)
    assert value("reciprocal rank", read) == pytest.approx((1 / 2 + 1 + 1 / 3) / 3)
    sequences = torch.eye(3)[torch.tensor([[0, 1], [2, 2]])]
    tagged = readings.of_classes(sequences, torch.tensor([[0, 1], [2, -100]]))[readings.RIGHT]
    assert value("exact match", tagged) == 1


def test_numbers() -> None:
    given, target = torch.tensor([1.0, 2.0, 4.0]), torch.tensor([1.0, 3.0, 5.0])
    read = readings.of_numbers(given, target)
    right = read[readings.RIGHT]
    assert value("mean squared error", right) == pytest.approx(2 / 3)
    assert value("root of the mean squared error", right) == pytest.approx(math.sqrt(2 / 3))
    assert value("R squared", right) == pytest.approx(0.75)
    assert value("R squared", read["arguments swapped"]) == pytest.approx(1 - 2 / (14 / 3))
    assert value("mean absolute percentage error", right) == pytest.approx((1 / 3 + 1 / 5) / 3)


def test_average_precision_and_ties() -> None:
    counts = ScoreCounts(scores=[(0.9, True), (0.8, False), (0.7, True), (0.7, False)])
    assert value("average precision", counts) == pytest.approx((1 + 0.5) / 2)
    assert value("area under the curve", counts) == pytest.approx(2.5 / 4)


def test_a_metric_under_the_name_of_another() -> None:
    known = evaluation(batch([1, 1, 1, 0, 0], [1, 0, 0, 0, 1]))
    own = list(rights(known, metrics_of("classes", None)))
    (found,) = other_metrics(["precision of class 1"], own)
    assert found.variant == "is the recall of class 1"
    assert (found.value, found.expected) == pytest.approx((1 / 2, 1 / 3))


def test_an_evaluation_before_and_a_sum_that_is_not_reset() -> None:
    known = evaluation(batch([1, 1], [1, 0]), batch([1, 1], [1, 1]))
    known.earlier = known.before = ScoreCounts(rows=4, labels=4, right=1)
    assert wrong(known, "evaluation before", "accuracy") == [0.25]
    assert wrong(known, "not reset", "accuracy") == [0.5, 1.0]


def test_an_argmax_over_an_axis_of_the_same_size() -> None:
    logits = torch.tensor([[0.1, 0.9], [0.2, 0.8]])
    known = evaluation(readings.of_classes(logits, torch.tensor([1, 1])))
    assert wrong(known, "argmax over another axis", "accuracy") == [0.5, 0.5, 0.5]


@pytest.mark.parametrize(
    ("label", "names"),
    [
        ("train loss, val acc", {"accuracy", "top 5"}),
        ("macro_f1", {"F1 macro"}),
        ("val loss, val F1", {"F1 micro", "F1 of class 1"}),
        ("balanced acc", {"balanced accuracy"}),
        ("accuracy and val_loss", {"loss", "mean squared error"}),
        ("ROC-AUC", {"area under the curve"}),
        ("RMSE", {"root of the mean squared error"}),
    ],
)
def test_metrics_by_the_last_words(label: str, names: set[str]) -> None:
    assert names <= named_by(label)


def test_words_that_name_no_metric() -> None:
    assert not named_by("half1")
    assert not named_by("epoch")
    assert not named_by("preaccumulated")
