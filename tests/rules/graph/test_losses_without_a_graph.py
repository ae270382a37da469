"""Losses without a graph, told apart by what cut them off: one recording, one rule that speaks."""

import pytest

from graph_recordings import after, backward_crash, found, left, script, stood, told
from surefit.doctor.observations import Json, Script
from surefit.doctor.rule import Rule
from surefit.rules.graph.checkpoint_of_a_frozen_input import RULE as CHECKPOINT
from surefit.rules.graph.frozen_parameters_to_train import RULE as FROZEN
from surefit.rules.graph.loss_cut_from_the_model import RULE as CUT
from surefit.rules.graph.training_without_recording import RULE as OFF

RULES = (CHECKPOINT, FROZEN, CUT, OFF)

CHECKPOINTED = script(
    """
    from torch.utils.checkpoint import checkpoint
    for x in batches:
        hidden = checkpoint(block, embed(x))
        loss = error(hidden)
        loss.backward()
    """
)
SWITCHED = script(
    """
    import torch
    for x in batches:
        with torch.no_grad():
            loss = error(model(x))
        loss.backward()
    """
)
FOR_GOOD = script(
    """
    import torch
    def evaluate():
        torch.set_grad_enabled(False)
        return model(held_out)
    for x in batches:
        loss = error(model(x))
        loss.backward()
    """
)
DETACHED = script(
    """
    for x in batches:
        loss = error(model(x).detach())
        loss.backward()
    """
)
STACKED = script(
    """
    import torch
    for x in batches:
        losses = [error(head(x)) for head in heads]
        loss = torch.tensor(losses).mean()
        loss.backward()
    """
)
ALL_FROZEN = script(
    """
    import torch
    for one in model.parameters():
        one.requires_grad = False
    optimizer = torch.optim.SGD(model.head.parameters())
    for x in batches:
        loss = error(model(x))
        loss.backward()
    """
)


def cut(one: Script, part: str, operation: str, **more: Json) -> dict[str, Json]:
    plain = {"enabled": True, "inference": False, "floating": True, "checkpointed": []}
    return {"name": operation, "stack": [stood(one, part)], **plain, **more}


def lost(one: Script, *cuts: Json, **more: Json) -> tuple[object, ...]:
    said: dict[str, Json] = {"cuts": list(cuts), "operations": 9, **more}
    optimized = more.pop("optimized", [2, 2])
    story = told(one, "loss.backward()", lost=said, optimized=optimized)
    return one, backward_crash(one, "loss.backward()"), left(grad=False), story


CASES = [
    (
        CHECKPOINT,
        CHECKPOINTED,
        cut(
            CHECKPOINTED,
            "hidden = ",
            "linear",
            enabled=False,
            checkpointed=[stood(CHECKPOINTED, "hidden = ")],
        ),
        "checkpoint(block, embed(x), use_reentrant=False)",
    ),
    (OFF, SWITCHED, cut(SWITCHED, "loss = error", "linear", enabled=False), "\n    loss = error("),
    (
        OFF,
        FOR_GOOD,
        cut(FOR_GOOD, "loss = error", "linear", enabled=False),
        "@torch.no_grad()\ndef",
    ),
    (CUT, DETACHED, cut(DETACHED, "loss = error", "detach"), "error(model(x))\n"),
    (CUT, STACKED, cut(STACKED, "torch.tensor", "tensor"), "torch.stack(losses).mean()"),
]


@pytest.mark.parametrize(("rule", "one", "place", "text"), CASES)
def test_one_rule_speaks_and_its_fix_keeps_the_graph(
    rule: Rule, one: Script, place: Json, text: str
) -> None:
    seen = lost(one, place)
    assert [other.name for other in RULES if found(other, *seen)] == [rule.name]
    (finding,) = found(rule, *seen)
    assert text in after(one, finding)


def test_frozen_parameters_of_an_optimizer_are_unfrozen() -> None:
    seen = lost(ALL_FROZEN, frozen=4, optimized=[2, 0])
    assert [other.name for other in RULES if found(other, *seen)] == [FROZEN.name]
    (finding,) = found(FROZEN, *seen)
    assert finding.place.line == 3
    assert "model.head.requires_grad_(True)\noptimizer = " in after(ALL_FROZEN, finding)


@pytest.mark.parametrize(
    ("given", "line"), [("model", 6), ("model); freeze(other", 4)], ids=["one call", "two"]
)
def test_what_a_function_freezes_was_chosen_where_it_is_called(given: str, line: int) -> None:
    one = script(
        """
        import torch
        def freeze(module):
            for one in module.parameters():
                one.requires_grad = False
        def build():
            freeze(GIVEN)
            return torch.optim.SGD(model.parameters())
        for x in batches:
            loss = error(model(x))
            loss.backward()
        """.replace("GIVEN", given)
    )
    (finding,) = found(FROZEN, *lost(one, frozen=4, optimized=[2, 0]))
    assert finding.place.line == line


def test_choices_have_no_gradient_and_no_patch() -> None:
    one = script(
        """
        for x, y in batches:
            loss = (model(x).argmax(1) != y).float().mean()
            loss.backward()
        """
    )
    (finding,) = found(CUT, *lost(one, cut(one, "loss = ", "argmax", floating=False)))
    assert "choices" in finding.headline
    assert finding.fixes[0].edit is None


def test_a_number_that_was_read_out_is_named() -> None:
    one = script(
        """
        for x in batches:
            value = error(model(x)).item()
            loss = new(value)
            loss.backward()
        """
    )
    read = cut(one, "value = ", "item")
    fresh = cut(one, "loss = new", "tensor")
    (finding,) = found(CUT, *lost(one, numbers=[read], fresh=[fresh]))
    assert finding.place.line == 2


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_a_loss_with_a_graph_or_without_a_story_is_silent(rule: Rule) -> None:
    one, crash, graph, story = lost(DETACHED, cut(DETACHED, "loss = error", "detach"))
    assert found(rule, one, crash, left(grad=True), story) == []
    assert found(rule, one, crash, graph) == []
    unknown = lost(DETACHED, cut(DETACHED, "loss = error", "linear"))
    assert found(rule, *unknown) == []


def test_a_switch_that_is_nowhere_in_the_source_is_not_guessed() -> None:
    assert found(OFF, *lost(DETACHED, cut(DETACHED, "loss = error", "linear", enabled=False))) == []


@pytest.mark.parametrize(
    ("call", "line"),
    [("train(model, False)", 5), ("train(model, value=False)", 5), ("train(model, True)", 9)],
)
def test_a_function_that_is_told_to_freeze_was_told_where_it_is_called(
    call: str, line: int
) -> None:
    text = """
        import torch
        def train(module, value):
            for one in module.parameters():
                one.requires_grad = value
        CALL
        optimizer = torch.optim.SGD(model.parameters())
        for x in batches:
            loss = error(model(x))
            loss.backward()
        """
    one = script(text.replace("CALL", call))
    (finding,) = found(FROZEN, *lost(one, frozen=4, optimized=[2, 0]))
    assert finding.place.line == line
