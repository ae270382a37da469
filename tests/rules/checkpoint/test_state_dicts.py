"""Checkpoints that do not fit, on hand-made recordings: each of the ways told from the others."""

from textwrap import dedent
from typing import Any

import pytest

from lineages import Step, lineage_answer
from looking import look
from surefit.doctor.conditions.re_executed import ReExecuted
from surefit.doctor.findings import Finding, Place
from surefit.doctor.observations import (
    Answer,
    Crash,
    Frame,
    Layer,
    Observation,
    Process,
    Question,
    Script,
    Value,
)
from surefit.doctor.recording import Recording
from surefit.laws.crashes import violations_in
from surefit.lineage.producers import Way
from surefit.rules.checkpoint import (
    checkpoint_of_another_model,
    checkpoint_of_other_sizes,
    state_dict_prefix,
    whole_checkpoint_loaded,
)
from surefit.source.edits import patched
from surefit.source.reading import Source
from surefit.source.spans import Span

RULES = [
    module.RULE
    for module in (
        state_dict_prefix,
        whole_checkpoint_loaded,
        checkpoint_of_other_sizes,
        checkpoint_of_another_model,
    )
]
TEXT = dedent(
    """\
    net = Net(4)
    net.load_state_dict(torch.load("net.pt"))
    """
)
OWN = {"body.weight": [16, 8], "body.bias": [16], "head.weight": [4, 16]}
NET = Value("net", "Net", 7, layer=Layer("Net", made_at=Place("train.py", 1)))
LINEAGES: dict[tuple[int, str], tuple[Step, ...]] = {
    (0, "net"): (("Net(4)", NET), ("4", Value("4", "int", scalar=4), Way.ARGUMENT, "classes"))
}
COMPARED: list[tuple[str, dict[str, Any]]] = [
    ("names-without-prefix", {"prefix": "module.", "given": True}),
    ("names-without-prefix", {"prefix": "_orig_mod.", "given": False}),
    ("names-under-a-key", {"key": "model"}),
]
FRAMES = (
    Frame(
        Place("train.py", 2),
        "<module>",
        own=True,
        line='net.load_state_dict(torch.load("net.pt"))',
        expression='net.load_state_dict(torch.load("net.pt"))',
        span=Span(2, 0, 2, 41),
        values=(NET,),
    ),
    Frame(
        Place("torch/nn/modules/module.py", 9),
        "Module.load_state_dict",
        own=False,
        layer=Layer("Net"),
    ),
)
CRASH = Crash("1-1", 1.0, Process(1), "RuntimeError", "RuntimeError: it does not fit", FRAMES)


def told(given: dict[str, Any], *, inside: Any = None, own: Any = None) -> list[Finding]:
    said: dict[str, Any] = {
        "kind": "Net",
        "own": own or OWN,
        "given": given,
        "other": [],
        "inside": inside or {},
        "made_at": {"file": "train.py", "line": 1},
    }
    compared = {"equal": True, "elements": 3}
    answers = [Answer(Question("state-dict", CRASH.id), said)]
    answers += [Answer(Question(kind, CRASH.id, about), compared) for kind, about in COMPARED]
    lineage = lineage_answer(CRASH, Source("train.py", TEXT), LINEAGES)
    observations: list[Observation] = [Script("train.py", TEXT, True), CRASH, *answers, lineage]
    return [finding for rule in RULES for finding in look(rule, observations)]


def test_a_prefix_that_was_saved_is_taken_from_every_name() -> None:
    (finding,) = told({f"module.{name}": shape for name, shape in OWN.items()})
    assert finding.rule == "state-dict-prefix"
    assert finding.headline == (
        "All 3 names of the state dict begin with `module.`, and those of `Net` do not."
    )
    (fix,) = finding.fixes
    assert fix.edit is not None
    assert (
        '{name.removeprefix("module."): tensor for name, tensor in torch.load("net.pt").items()}'
        in patched(fix.edit, TEXT)
    )
    assert isinstance(fix.must, ReExecuted)


def test_a_prefix_that_the_model_has_is_where_to_load() -> None:
    (finding,) = told(OWN, own={f"_orig_mod.{name}": shape for name, shape in OWN.items()})
    assert finding.rule == "state-dict-prefix"
    (fix,) = finding.fixes
    assert fix.edit is not None
    assert "net._orig_mod.load_state_dict(" in patched(fix.edit, TEXT)


def test_an_entry_with_the_names_and_shapes_is_the_one() -> None:
    (finding,) = told({}, inside={"model": OWN, "average": {"body.weight": [16, 8]}})
    assert finding.rule == "whole-checkpoint-loaded"
    (fix,) = finding.fixes
    assert fix.edit is not None
    assert 'load_state_dict(torch.load("net.pt")["model"])' in patched(fix.edit, TEXT)


def test_two_entries_that_fit_leave_the_choice() -> None:
    (finding,) = told({}, inside={"model": OWN, "average": OWN})
    assert finding.rule == "checkpoint-of-another-model"


def test_other_sizes_are_counted_where_the_model_is_made() -> None:
    (finding,) = told({**OWN, "head.weight": [10, 16]})
    assert finding.rule == "checkpoint-of-other-sizes"
    assert finding.place == Place("train.py", 1, 1)
    assert finding.headline == (
        "The checkpoint was saved with 10 where `Net` has 4: 1 tensor of `head` has another shape."
    )
    edits = [fix.edit for fix in finding.fixes if fix.edit is not None]
    assert "net = Net(10)\n" in patched(edits[0], TEXT)
    assert "if tensor.shape == net.state_dict()[name].shape}" in patched(edits[1], TEXT)
    assert all(fix.choice for fix in finding.fixes)


def test_added_tokens_are_added_again() -> None:
    own = {"embed_tokens.weight": [100, 16], "head.weight": [4, 16]}
    (finding,) = told({**own, "embed_tokens.weight": [102, 16]}, own=own)
    assert "must be resized again" in finding.why


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"q.lora_A.weight": [4, 32], "q.lora_B.weight": [96, 4]}, "another base"),
        ({"q.lora_A.weight": [8, 48], "q.lora_B.weight": [144, 8]}, "the rank `r` that"),
    ],
)
def test_adapters_of_another_base_are_told_from_another_rank(
    given: dict[str, Any], said: str
) -> None:
    own = {"q.lora_A.weight": [4, 48], "q.lora_B.weight": [144, 4]}
    (finding,) = told(given, own=own)
    assert said in finding.why


def test_a_layer_with_another_name_is_seen_by_its_shapes() -> None:
    given = {"body.weight": [16, 8], "body.bias": [16], "fc.weight": [4, 16]}
    (finding,) = told(given)
    assert finding.rule == "checkpoint-of-another-model"
    facts = {fact.name: fact.value for fact in finding.facts}
    assert facts["of the same shapes"] == "`fc` there, `head` here"


@pytest.mark.parametrize("more", [{"new.weight": [2]}, {"head.bias": [4]}])
def test_a_prefix_that_leaves_something_over_is_none(more: dict[str, Any]) -> None:
    given = {f"module.{name}": shape for name, shape in {**OWN, **more}.items()}
    (finding,) = told(given)
    assert finding.rule == "checkpoint-of-another-model"


def test_nothing_is_said_where_everything_fits() -> None:
    assert told(OWN) == []


def test_another_crash_is_not_asked_about() -> None:
    crash = Crash("1-1", 1.0, Process(1), "RuntimeError", "RuntimeError: x", FRAMES[:1])
    recording = Recording([Script("train.py", TEXT, True), crash])
    assert violations_in(recording, []) == []
    assert "state-dict" not in {question.kind for question in recording.open_questions}
