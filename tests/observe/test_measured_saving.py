"""State dicts of a real run: which were live, which loads matched, which ties were parted."""

from pathlib import Path
from typing import Any

import pytest

from running import observed, written
from surefit.doctor.measures.saving import Bests, LiveState, SavingSeen

SCRIPT = """
    import copy
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 8), nn.Linear(8, 2))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def train(steps=1):
        for _ in range(steps):
            optimizer.zero_grad()
            nn.functional.cross_entropy(model(torch.randn(8, 4)), torch.arange(8) % 2).backward()
            optimizer.step()

    def evaluate():
        model.eval()
        with torch.no_grad():
            loss = nn.functional.cross_entropy(model(torch.ones(4, 4)), torch.zeros(4).long())
        model.train()
        return loss.item()

    def by_the_dict():
        state = model.state_dict()
        train(3)
        model.load_state_dict(state)

    def by_a_shallow_copy():
        train()
        state = {name: tensor.detach().cpu() for name, tensor in model.state_dict().items()}
        train(2)
        model.load_state_dict(state)

    def saved_late():
        state = {"model": model.state_dict(), "epoch": 1}
        train(2)
        torch.save(state, "late.pt")

    def into_another():
        state = copy.copy(model.state_dict())
        train(2)
        copy.deepcopy(model).load_state_dict(state)

    def healthy():
        state = copy.deepcopy(model.state_dict())
        live = model.state_dict()
        model.load_state_dict(live)
        torch.save(live, "live.pt")
        train(2)
        model.load_state_dict(state)
        model.load_state_dict(torch.load("live.pt"))

    def no_name():
        state = {f"module.{name}": tensor for name, tensor in torch.load("live.pt").items()}
        model.load_state_dict(state, strict=False)

    def filtered():
        state = {f"module.{name}": tensor for name, tensor in model.state_dict().items()}
        torch.save(state, "p.pt")
        own, read = model.state_dict(), torch.load("p.pt")
        own.update({name: tensor for name, tensor in read.items() if name in own})
        model.load_state_dict(own)

    def called_the_best():
        best_model = model
        evaluate()
        train()
        return best_model

    def numbers():
        val_loss = evaluate()
        torch.save(model.state_dict(), "numbers.pt")
        train()

    def tied():
        class Tied(nn.Module):
            def __init__(self):
                super().__init__()
                self.a, self.b = nn.Linear(3, 3), nn.Linear(3, 3)
                self.b.weight = self.a.weight
        apart = {name: tensor.clone() for name, tensor in Tied().state_dict().items()}
        Tied().load_state_dict(apart)
        Tied().load_state_dict(apart, assign=True)

    for part in (by_the_dict, by_a_shallow_copy, saved_late, into_another, healthy, no_name,
                 filtered, called_the_best, numbers, tied):
        part()
    """


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder = tmp_path_factory.mktemp("saving")
    done = observed([written(folder, script=SCRIPT)], folder)
    assert (done.code, done.err, done.faults) == (0, "", [])
    return done


def line(text: str) -> int:
    lines = [one.strip() for one in SCRIPT.strip("\n").splitlines()]
    return lines.index(text) + 1


def live(ran: Any, how: str) -> list[LiveState]:
    (measure,) = ran.seen.all(SavingSeen)
    return [one for one in measure.live if one.how == how]


def test_live_states_that_were_loaded(ran: Any) -> None:
    lines = [
        line("state = model.state_dict()"),
        line(
            "state = {name: tensor.detach().cpu() for name, tensor in model.state_dict().items()}"
        ),
        line("state = copy.copy(model.state_dict())"),
    ]
    found = live(ran, "loaded")
    assert [one.taken_at.line for one in found if one.taken_at] == lines
    assert [one.used_step - one.taken_step for one in found] == [3, 2, 2]
    assert [one.itself for one in found] == [True, True, False]
    assert {(one.tensors, one.changed) for one in found} == {(4, 4)}


def test_live_states_that_were_saved(ran: Any) -> None:
    (late,) = live(ran, "saved")
    assert late.taken_at is not None
    assert late.taken_at.line == line('state = {"model": model.state_dict(), "epoch": 1}')


def test_a_name_that_is_called_the_best(ran: Any) -> None:
    (kept,) = live(ran, "kept")
    assert (kept.name, kept.function, kept.changed) == ("best_model", "called_the_best", 4)


def test_loads_that_match_no_name(ran: Any) -> None:
    (measure,) = ran.seen.all(SavingSeen)
    odd = {one.place.line: one for one in measure.loads if one.matched < one.given}
    prefixed = odd[line("model.load_state_dict(state, strict=False)")]
    assert (prefixed.drop, prefixed.would_match, prefixed.own) == ("module.", 4, False)
    filtered = odd[line("model.load_state_dict(own)")]
    assert (filtered.drop, filtered.would_match, filtered.own) == ("module.", 4, True)
    assert Path(filtered.file).name == "p.pt"
    assert len(odd) == 2


def test_ties_that_a_load_parts(ran: Any) -> None:
    (measure,) = ran.seen.all(SavingSeen)
    (tie,) = measure.ties
    assert (tie.names, tie.in_file) == (("a.weight", "b.weight"), False)
    assert tie.place is not None
    assert tie.place.line == line("Tied().load_state_dict(apart, assign=True)")


def test_numbers_in_sight_of_a_save_are_those_of_its_evaluation(ran: Any) -> None:
    (measure,) = ran.seen.all(Bests)
    at = line('torch.save(model.state_dict(), "numbers.pt")')
    (save,) = [one for one in measure.saves if one.place.line == at]
    assert save.numbers["val_loss"] == pytest.approx(measure.evaluations[save.evaluation - 1].loss)
