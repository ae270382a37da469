"""Draws whose log-probability is taken, and the action that was rewarded."""

import pytest

from surefit.laws.invariants.taken_actions import scored_draws, taken_action
from surefit.source.reading import Source


def rewarded(text: str) -> list[str]:
    source = Source("train.py", text)
    return [taken_action(source, scored) for scored in scored_draws(source)]


LOOP = "for _ in range(9):\n    a = d.sample()\n    r = env(a)\n"


@pytest.mark.parametrize(
    ("text", "taken"),
    [
        (f"{LOOP}    loss = -(d.log_prob(d.sample()) * r).mean()\n", "a"),
        (f"{LOOP}    b = d.rsample()\n    lp = d.log_prob(b)\n    loss = -lp * (r - 1)\n", "a"),
        (
            "def update(states, actions, returns):\n    d = policy(states)\n"
            "    return -(returns * d.log_prob(d.sample())).mean()\n",
            "actions",
        ),
        (
            "def act(s):\n    return Categorical(logits=net(s)).sample()\n"
            "for s in states:\n    a = act(s)\n    r = env(a)\n    again = act(s)\n"
            "    loss = -Categorical(logits=net(s)).log_prob(again) * r\n",
            "a",
        ),
    ],
)
def test_another_action_was_rewarded(text: str, taken: str) -> None:
    assert rewarded(text) == [taken]


@pytest.mark.parametrize(
    "text",
    [
        f"{LOOP}    loss = -(d.log_prob(a) * r).mean()\n",
        f"{LOOP}    loss = -d.log_prob(a) * r + 0.01 * d.log_prob(d.sample()).mean()\n",
        f"{LOOP}    loss = -d.log_prob(a) * r + beta * d.log_prob(d.sample()).mean()\n",
        "def actor_loss(s):\n    a = d.rsample()\n"
        "    return (alpha * d.log_prob(a) - q(s, a)).mean()\n",
        "def update(states, actions, returns):\n    d = policy(states)\n"
        "    return -(returns * d.log_prob(actions)).mean()\n",
    ],
)
def test_the_action_is_the_one_that_was_taken(text: str) -> None:
    assert not any(rewarded(text))
