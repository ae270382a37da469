"""What is seen of calls of `kl_div`: sides, weights, terms beside, padding."""

from collections.abc import Callable

import pytest

from running import observed, plainly, written
from surefit.doctor.observations import DivergenceSeen, Steps

pytestmark = pytest.mark.slow

SCRIPT = """
    import torch
    import torch.nn.functional as F
    from torch import nn

    torch.manual_seed(0)
    ids = torch.randint(1, 20, (4, 6))
    ids[0, 3:] = 0
    ids[1, 5:] = 0
    mask = (ids != 0).long()
    teacher = nn.Sequential(nn.Embedding(20, 8), nn.Linear(8, 20))
    student = nn.Sequential(nn.Embedding(20, 4), nn.Linear(4, 20))
    optimizer = torch.optim.SGD(student.parameters(), lr=0.1)
    hard = nn.CrossEntropyLoss()

    def one_by_one(logits, wanted):
        given = F.log_softmax(logits / 4, -1)
        return F.kl_div(given, F.softmax(wanted / 4, -1), reduction="none").sum(-1)

    def masked(logits, wanted, labels):
        apart = one_by_one(logits, wanted)
        return (apart * mask).sum() / mask.sum() * 16

    def averaged(logits, wanted, labels):
        return 0.3 * F.kl_div(logits.log_softmax(-1), wanted.softmax(-1)) + 0.7 * hard(
            logits.reshape(-1, 20), labels.reshape(-1)
        )

    def whole(logits, wanted, labels):
        given, wanted = (one.flatten(0, 1).softmax(-1) for one in (logits, wanted))
        return nn.KLDivLoss(reduction="batchmean")(given, wanted)

    def shifted(logits, wanted, labels):
        given, target = logits[:, :-1].log_softmax(-1), wanted[:, :-1].log_softmax(-1)
        return F.kl_div(given, target, log_target=True, reduction="sum") / 8

    def selected(logits, wanted, labels):
        real = mask.bool()
        return F.kl_div(logits[real].log_softmax(-1), wanted[real].softmax(-1), reduction="sum")

    def evaluated():
        with torch.no_grad():
            return F.kl_div(student(ids).log_softmax(-1), teacher(ids).softmax(-1))

    for loss_of in (masked, averaged, whole, shifted, selected):
        for _ in range(2):
            with torch.no_grad():
                wanted = teacher(ids)
            labels = ids.masked_fill(mask == 0, -100)
            loss = loss_of(student(ids), wanted, labels) / 2
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            evaluated()
            print(loss.item())
    """

Named = Callable[[str], DivergenceSeen]


@pytest.fixture(scope="module")
def named(tmp_path_factory: pytest.TempPathFactory) -> Named:
    """The second call in a function of the script, when a term beside it is looked at."""
    folder = tmp_path_factory.mktemp("divergences")
    script = written(folder, train=SCRIPT)
    ran = observed([script.name], folder)
    assert ran.faults == []
    assert ran.out == plainly([script.name], folder).out
    (steps,) = ran.seen.all(Steps)
    lines = script.read_text().splitlines()

    def second(function: str) -> DivergenceSeen:
        begin = next(at for at, line in enumerate(lines) if line.startswith(f"def {function}("))
        end = next(at for at in range(begin, len(lines)) if not lines[at].strip())
        found = [
            one
            for one in steps.divergences
            if one.place is not None and begin < (one.place.line or 0) <= end
        ]
        assert len(found) in (0, 2)
        return found[-1]

    return second


def test_a_mask_behind_it(named: Named) -> None:
    seen = named("one_by_one")
    assert (seen.reduction, seen.shape, seen.joined) == ("none", (4, 6, 20), False)
    assert seen.looked == seen.places == 24
    assert (seen.given.kind, seen.target.kind) == ("logarithms", "probabilities")
    assert (seen.given.grad, seen.target.grad) == (True, False)
    assert seen.temperature == pytest.approx(4)
    assert seen.place_weight == pytest.approx(16 / 2)
    assert seen.padding is not None
    assert (seen.padding.padded, seen.padding.counted) == (4, 0)
    assert (seen.padding.known_by, seen.padding.beyond) == ("", "mask")


def test_a_term_beside_it(named: Named) -> None:
    seen = named("averaged")
    assert seen.reduction == "mean"
    assert seen.joined
    assert seen.weight == pytest.approx(0.3)
    assert seen.place_weight == pytest.approx(0.3 / 20)
    assert seen.value == pytest.approx((seen.per_place or 0) / 20)
    assert seen.temperature == 1
    (beside,) = seen.beside
    assert (beside.name, beside.labels, beside.ignored) == ("cross_entropy", 24, 4)
    assert beside.weight == pytest.approx(0.7)
    assert seen.padding is not None
    assert (seen.padding.padded, seen.padding.counted) == (4, 4)
    assert 0 < (seen.padding.share or 0) < 1


def test_probabilities_on_both_sides(named: Named) -> None:
    seen = named("whole")
    assert (seen.given.kind, seen.target.kind) == ("probabilities", "probabilities")
    assert seen.beside == ()
    assert seen.weight == pytest.approx(0.5)
    assert (seen.per_place or 0) < 0


def test_a_place_less_in_each_row(named: Named) -> None:
    seen = named("shifted")
    assert seen.log_target
    assert seen.target.kind == "logarithms"
    assert seen.place_weight == pytest.approx(20 / 8 / 2)
    assert seen.padding is not None
    assert (seen.padding.padded, seen.padding.shifted) == (4, True)


def test_places_that_were_picked(named: Named) -> None:
    seen = named("selected")
    assert seen.places == 20
    assert seen.padding is None


def test_evaluation_is_not_looked_at(named: Named) -> None:
    with pytest.raises(IndexError):
        named("evaluated")
