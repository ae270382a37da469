"""Modules that are moved without data, and failures of a move that are something else."""

from surefit.doctor.findings import Finding, Place
from surefit.doctor.observations import (
    Answer,
    Crash,
    Frame,
    Json,
    Layer,
    Process,
    Question,
    Script,
    Value,
)
from surefit.doctor.recording import Recording
from surefit.laws.crashes import violations_in
from surefit.rules.device.module_without_data import RULE
from surefit.source.edits import patched
from surefit.source.spans import Span

TEXT = """\
with torch.device("meta"):
    model = Net()
model.load_state_dict(weights)
model.to("cpu")
"""
MODULE = "torch/nn/modules/module.py"


def found(said: Json, function: str = "Module._apply") -> list[Finding]:
    layer = Layer("Net", "", "Net", Place("train.py", 2), own=True)
    frames = (
        Frame(
            Place("train.py", 4),
            "<module>",
            True,
            'model.to("cpu")',
            'model.to("cpu")',
            Span(4, 0, 4, 15),
            (Value("model", "Net", 1, layer=layer),),
        ),
        Frame(Place(MODULE, 900), function, False),
        Frame(Place(MODULE, 1376), "Module.to.<locals>.convert", False),
    )
    crash = Crash("1-1", 1.0, Process(1), "NotImplementedError", "no data", frames)
    answer = Answer(Question("without-data", "1-1", {"frame": 0, "text": "model"}), said)
    recording = Recording([Script("train.py", TEXT), crash, answer])
    return list(RULE.look(recording, violations_in(recording, [])))


def after(finding: Finding) -> str:
    edit = finding.fixes[0].edit
    assert edit is not None
    return patched(edit, TEXT)


def test_buffers_that_no_checkpoint_has() -> None:
    (finding,) = found({"parameters": [], "buffers": ["rotary.inv_freq"]})
    assert finding.place.line == 1
    assert after(finding).startswith("model = Net()\nmodel.load")


def test_parameters_that_were_loaded_into_nothing_are_assigned() -> None:
    (finding,) = found({"parameters": ["head.weight"], "buffers": []})
    assert "model.load_state_dict(weights, assign=True)\n" in after(finding)


def test_a_module_with_data_fails_for_another_reason() -> None:
    assert found({"parameters": [], "buffers": []}) == []
    assert found({"parameters": ["head.weight"], "buffers": []}, "Module.other") == []


def test_nothing_offers_memory_without_values() -> None:
    for fix in found({"parameters": ["head.weight"], "buffers": ["offset"]})[0].fixes:
        assert fix.edit is None or "to_empty" not in patched(fix.edit, TEXT)
