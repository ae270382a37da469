"""Parameters that never move are told by how they came to stand outside; the rest is silence."""

from dataclasses import replace
from textwrap import dedent
from typing import Any

import pytest

from surefit.doctor.conditions.parameters import Moves
from surefit.doctor.findings import Finding, Place
from surefit.doctor.observations import (
    OptimizerSeen,
    ParameterSeen,
    Process,
    RootSeen,
    Script,
    Steps,
)
from surefit.doctor.recording import Recording
from surefit.rules.optimizer.parameters_outside_the_optimizer import RULE
from surefit.source.edits import patched

FILE = "train.py"
LATE = """
    import torch
    from torch import nn

    model = Net()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    model.head = nn.Linear(48, 5)
    train(model, optimizer)
"""
HELD = ParameterSeen("body.weight", (4, 4), "float32", Place(FILE, 4), 2, held_by=5, looked=9)
WEIGHT = ParameterSeen("head.weight", (5, 48), "float32", Place(FILE, 6), 8, "Linear", looked=2)
BIAS = ParameterSeen("head.bias", (5,), "float32", Place(FILE, 6), 9, "Linear", looked=2)
OPTIMIZER = OptimizerSeen("Adam", Place(FILE, 5), 5, 1, 60, 1e-3, 1e-3, 0, 9)


def recorded(text: str, *outside: ParameterSeen, **changes: Any) -> Recording:
    steps = Steps(
        Process(7),
        60,
        1.0,
        9,
        {"TZBS": 60},
        (),
        optimizers=(OPTIMIZER,),
        parameters=(HELD,),
        outside=outside,
    )
    script = Script(FILE, dedent(text).lstrip("\n"), main=True)
    return Recording([script, replace(steps, **changes)])


def found(seen: Recording) -> list[Finding]:
    return list(RULE.look(seen))


def mended(seen: Recording, finding: Finding) -> str:
    source, edit = seen.source(FILE), finding.fixes[0].edit
    assert source is not None
    assert edit is not None
    return patched(edit, source.text)


def test_a_layer_made_after_the_optimizer() -> None:
    seen = recorded(LATE, WEIGHT, BIAS)
    (finding,) = found(seen)
    assert finding.place == Place(FILE, 5)
    assert finding.headline == (
        "`optimizer` was created before `head.weight` and `head.bias`: 245 weights of 2 tensors get"
        " gradients, and no optimizer holds them."
    )
    facts = {fact.name: fact.value for fact in finding.facts}
    assert facts["the parameters"] == "created at train.py:6, after it"
    assert facts["gradients"] == "fresh at each of 2 steps looked at"
    assert finding.fixes[0].must == Moves(("head.weight", "head.bias"), steps=3)
    lines = mended(seen, finding).splitlines()
    assert lines.index("model.head = nn.Linear(48, 5)") < next(
        at for at, line in enumerate(lines) if line.startswith("optimizer =")
    )


def test_a_projection_beside_the_model_is_added_to_the_optimizer() -> None:
    """Moving the optimizer behind it would not do: `model.parameters()` never has it."""
    text = LATE.replace("model.head =", "projection =")
    own = [
        replace(one, name=one.name.removeprefix("head."), root=7, registered=True)
        for one in (WEIGHT, BIAS)
    ]
    root = RootSeen("Linear", Place(FILE, 6), 7, 245, training=60)
    seen = recorded(text, *own, roots=(root,))
    (finding,) = found(seen)
    assert "`projection.weight` and `projection.bias`" in finding.headline
    lines = mended(seen, finding).splitlines()
    added = 'optimizer.add_param_group({"params": projection.parameters()})'
    assert lines[lines.index("projection = nn.Linear(48, 5)") + 1] == added
    assert finding.fixes[0].must == Moves(("weight", "bias"), steps=3)


def test_what_lies_between_is_not_broken_by_the_fix() -> None:
    scheduled = LATE.replace(
        "model.head =", "schedule = torch.optim.lr_scheduler.StepLR(optimizer, 9)\n    model.head ="
    )
    moved = [replace(one, made_at=Place(FILE, 7)) for one in (WEIGHT, BIAS)]
    seen = recorded(scheduled, *moved)
    (finding,) = found(seen)
    lines = mended(seen, finding).splitlines()
    order = [lines.index(line) for line in lines if line.startswith(("model.", "opt", "sched"))]
    assert order == sorted(order)
    assert [lines[at].split(" ")[0] for at in order] == ["model.head", "optimizer", "schedule"]


def test_functions_that_make_the_two_are_followed_to_their_calls() -> None:
    text = """
        def make(model):
            return torch.optim.Adam(model.parameters())

        def grow(model):
            model.head = nn.Linear(48, 5)

        def main():
            model = Net()
            optimizer = make(model)
            grow(model)
            train(model, optimizer)
    """
    moved = [replace(one, made_at=Place(FILE, 5)) for one in (WEIGHT, BIAS)]
    seen = recorded(text, *moved, optimizers=(replace(OPTIMIZER, made_at=Place(FILE, 2)),))
    (finding,) = found(seen)
    assert finding.headline.startswith("`optimizer` was created before")
    lines = mended(seen, finding).splitlines()
    assert lines.index("    grow(model)") < lines.index("    optimizer = make(model)")


def test_a_layer_that_the_first_batch_makes_has_no_safe_patch() -> None:
    text = """
        class Net(nn.Module):
            def forward(self, x):
                if self.proj is None:
                    self.proj = nn.Linear(x.shape[-1], 16)
                return self.proj(x)
    """
    made = replace(WEIGHT, made_at=Place(FILE, 4))
    (finding,) = found(
        recorded(text, made, optimizers=(replace(OPTIMIZER, made_at=Place(FILE, 9)),))
    )
    (fix,) = finding.fixes
    assert fix.edit is None
    assert fix.choice
    assert fix.text.startswith("Create the layer in `__init__`")


LIST = """
    from torch import nn

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.hidden = [nn.Linear(8, 8) for _ in range(4)]

        def forward(self, x):
            for layer in self.hidden:
                x = layer(x)
            return x

    model = Net()
"""
IN_LIST = replace(
    WEIGHT,
    name="hidden[0].weight",
    serial=3,
    registered=False,
    made_at=Place(FILE, 6),
    shape=(8, 8),
)


def test_layers_in_a_plain_list() -> None:
    seen = recorded(LIST, IN_LIST)
    (finding,) = found(seen)
    assert finding.place == Place(FILE, 6, 6)
    assert finding.headline == (
        "`self.hidden` is a plain list: 64 weights of 1 tensor in it get gradients, and no"
        " optimizer holds them."
    )
    assert finding.ruled_out[0].value == "no: it was created after them"
    assert finding.fixes[0].must == Moves(("hidden.0.weight",), steps=3)
    assert "self.hidden = nn.ModuleList([nn.Linear(8, 8) for _ in range(4)])" in mended(
        seen, finding
    )


def test_the_container_is_imported_where_nothing_else_is() -> None:
    text = LIST.replace("from torch import nn", "from torch.nn import Linear, Module")
    text = text.replace("nn.Module", "Module").replace("nn.Linear", "Linear")
    seen = recorded(text, IN_LIST)
    (finding,) = found(seen)
    after = mended(seen, finding)
    assert "ModuleList([Linear(8, 8) for _ in range(4)])" in after
    assert "from torch.nn import Linear, Module, ModuleList" in after


def test_names_inside_a_dict_become_those_of_a_module_dict() -> None:
    text = LIST.replace(
        "[nn.Linear(8, 8) for _ in range(4)]", "{name: nn.Linear(8, 8) for name in 'ab'}"
    )
    seen = recorded(text, replace(IN_LIST, name="hidden['a'].weight"))
    (finding,) = found(seen)
    assert "plain dict" in finding.headline
    assert finding.fixes[0].must == Moves(("hidden.a.weight",), steps=3)


@pytest.mark.parametrize(
    "outside",
    [
        replace(WEIGHT, serial=3),
        replace(WEIGHT, changed=True),
        replace(WEIGHT, sampled=40, unchanged=10),
        replace(WEIGHT, held_by=1),
        replace(WEIGHT, made_at=None),
        replace(WEIGHT, serial=0),
    ],
    ids=["subset-on-purpose", "by-hand", "moved", "earlier-stage", "unknown", "not-numbered"],
)
def test_parameters_that_were_left_out_on_purpose_are_left_alone(outside: ParameterSeen) -> None:
    assert found(recorded(LATE, outside)) == []


def test_without_any_optimizer_updates_are_made_by_hand() -> None:
    assert found(recorded(LATE, WEIGHT, optimizers=())) == []


def test_an_optimizer_made_after_the_parameters_was_given_what_it_should_have() -> None:
    later = replace(OPTIMIZER, serial=20, made_at=Place(FILE, 9))
    assert found(recorded(LATE, WEIGHT, optimizers=(OPTIMIZER, later))) == []


def test_a_module_that_is_a_model_of_its_own_lends_its_name() -> None:
    text = LATE.replace("model.head = nn.Linear(48, 5)", "proj = nn.Linear(48, 5)")
    alone = replace(WEIGHT, name="weight", root=7)
    root = RootSeen("Linear", Place(FILE, 6), 7, 245, training=60)
    (finding,) = found(recorded(text, alone, roots=(root,)))
    assert finding.headline.startswith("`optimizer` was created before `proj.weight`: 240 weights")


@pytest.mark.parametrize(
    ("made", "training", "held", "expected"),
    [
        ("judge = Judge()", 9, 0, 1),
        ("judge = Judge()", 0, 0, 0),
        ("judge = Judge().eval()", 9, 0, 0),
        ("judge = vgg16(weights='DEFAULT')", 9, 0, 0),
        ("judge = vgg16(weights='DEFAULT')", 9, 2, 1),
    ],
    ids=["new-layer", "only-evaluated", "set-to-evaluate", "loaded", "partly-trained"],
)
def test_another_model_that_came_as_it_is_was_left_out_on_purpose(
    made: str, training: int, held: int, expected: int
) -> None:
    text = LATE.replace("model.head = nn.Linear(48, 5)", made)
    alone = replace(WEIGHT, name="weight", root=7)
    root = RootSeen("Judge", Place(FILE, 6), 7, 245, training=training, evaluating=9, held=held)
    assert len(found(recorded(text, alone, roots=(root,)))) == expected


def read_only(text: str) -> list[Finding]:
    return found(Recording([Script(FILE, dedent(text).lstrip("\n"))]))


def test_reading_alone_finds_a_list() -> None:
    (listed,) = read_only(LIST)
    assert listed.place == Place(FILE, 6, 6)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("[nn.Linear(8, 8) for _ in range(4)]", "[8, 8, 8]"),
        ("for layer in self.hidden", "for layer in self.others"),
        ("class Net(nn.Module)", "class Net"),
        ("model = Net()", "model = Net()\n    more = [one.weight for one in model.hidden]"),
        ("range(4)]", "range(4)]\n            self.net = nn.Sequential(*self.hidden)"),
        ("range(4)]", "range(4)]\n            self.add_module('all', self.hidden[0])"),
    ],
)
def test_reading_alone_says_nothing_uncertain_of_lists(old: str, new: str) -> None:
    assert read_only(LIST.replace(old, new)) == []
