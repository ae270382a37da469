"""Stories are newest first, and count the ways that a gradient has past closed clamps."""

import json
from typing import Any

import msgspec
import pytest
import torch
from torch import nn
from torch.nn import functional as F

from surefit.doctor.findings import Place
from surefit.laws.losses.loss_stories import LossStory
from surefit.observe.inside.stories.recorder import Recorder, recording_mode
from surefit.observe.inside.stories.telling import MOST_TOLD, story


def told(loss_of: Any) -> LossStory:
    recorder = Recorder(torch)
    with recording_mode(recorder):
        loss = loss_of()
        with recorder.pause():
            said = story(recorder, loss)
    return msgspec.convert(json.loads(json.dumps(said)), LossStory, strict=False)


def test_the_story_of_a_loss_is_newest_first_and_has_what_gradients_pass() -> None:
    layer, x, y = nn.Linear(4, 3), torch.ones(2, 4), torch.zeros(2, dtype=torch.long)

    def loss() -> Any:
        return 0.5 * F.cross_entropy(layer(x.repeat(1, 1)).clamp(-9, 9), y)

    made = told(loss).operations
    assert [one.name for one in made[:4]] == ["mul", "cross_entropy", "clamp", "linear"]
    assert "repeat" not in [one.name for one in made]
    assert made[0].result == pytest.approx(0.5 * (made[1].result or 0))
    assert (made[2].elements, made[2].saturated, made[2].numbers) == (6, 0, (-9.0, 9.0))
    assert [one.serial for one in made] == sorted((one.serial for one in made), reverse=True)
    assert made[0].place == Place(__file__, loss.__code__.co_firstlineno + 1)


def behind_clamp(layer: nn.Linear) -> Any:
    return (layer(torch.ones(2, 4)) - 50).clamp(-1, 1).mean()


def test_every_way_through_a_closed_clamp_is_closed() -> None:
    layer = nn.Linear(4, 3)
    found = told(lambda: behind_clamp(layer))
    assert (found.parameters, found.past_clamps) == (2, 0)
    assert layer.weight.grad is None


def test_a_way_beside_a_closed_clamp_is_counted() -> None:
    layer = nn.Linear(4, 3)
    found = told(lambda: behind_clamp(layer) + 1e-3 * layer.weight.square().sum())
    assert (found.parameters, found.past_clamps) == (2, 1)


def test_a_clamp_that_lets_one_element_through_closes_nothing() -> None:
    layer = nn.Linear(4, 3)
    with torch.no_grad():
        layer.bias.copy_(torch.tensor([0.0, 99.0, 99.0]))
        layer.weight.zero_()
    found = told(lambda: layer(torch.ones(2, 4)).clamp(-1, 1).mean())
    clamp = next(one for one in found.operations if one.name == "clamp")
    assert (clamp.elements, clamp.saturated) == (6, 4)
    assert found.past_clamps == 2


def test_what_was_not_recorded_counts_as_a_way() -> None:
    class Passing(torch.autograd.Function):
        @staticmethod
        def forward(_: Any, x: Any) -> Any:
            return x.clone()

        @staticmethod
        def backward(_: Any, *gradients: Any) -> Any:
            return gradients[0]

    passing: Any = Passing
    layer = nn.Linear(4, 3)
    found = told(lambda: behind_clamp(layer) + passing.apply(layer.weight).sum())
    assert found.past_clamps > 0


def test_a_long_story_is_cut_but_not_its_closed_clamps() -> None:
    layer = nn.Linear(4, 4)

    def loss() -> Any:
        hidden = (layer(torch.ones(2, 4)) - 50).clamp(-1, 1)
        for _ in range(200):
            hidden = hidden + 1
        return hidden.sum()

    made = told(loss).operations
    assert len(made) == MOST_TOLD + 1
    assert (made[-1].name, made[-1].saturated) == ("clamp", 8)


def test_names_are_those_that_the_line_assigns() -> None:
    recorder = Recorder(torch)
    with recording_mode(recorder):
        first, second = torch.zeros(4, 2, requires_grad=True)[1:], torch.ones(3)
        with recorder.pause():
            said = story(recorder, first)
    operations: Any = said["operations"]
    assert operations[0]["names"] == ("first", "second")
    assert second.shape == (3,)
