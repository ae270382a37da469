"""Adapters for layers that are not there, on hand-made recordings."""

from textwrap import dedent
from typing import Any

from surefit.doctor.conditions.adapters import AdaptersMove
from surefit.doctor.findings import Finding, Place
from surefit.doctor.observations import Answer, Crash, Frame, Process, Question, Script
from surefit.doctor.recording import Recording
from surefit.rules.model.adapter_targets_missing import RULE
from surefit.source.edits import patched

NAMED = dedent(
    """\
    from peft import LoraConfig, get_peft_model
    config = LoraConfig(r=4, target_modules=["q_proj"])
    model = get_peft_model(model, config)
    """
)
COLLECTED = dedent(
    """\
    from peft import LoraConfig, get_peft_model
    from torch import nn
    def names(model):
        return [n for n, m in model.named_modules() if isinstance(m, nn.Linear)]
    found = names(model)
    config = LoraConfig(r=4, target_modules=found)
    model = get_peft_model(model, config)
    """
)
LAYERS = {"c_attn": {"Conv1D": 2}, "lm_head": {"Linear": 1}, "wte": {"Embedding": 1}}


def told(text: str, targets: Any, usual: tuple[str, ...] = ()) -> list[Finding]:
    line = text.count("\n")
    frames = (
        Frame(Place("train.py", line), "<module>", own=True, line="model = ..."),
        Frame(Place("peft/tuners/tuners_utils.py", 9), "inject_adapter", own=False),
    )
    crash = Crash("1-1", 1.0, Process(1), "ValueError", "ValueError: x", frames)
    said = {"model": "GPT2", "type": "gpt2", "targets": targets, "layers": LAYERS}
    answer = Answer(Question("adapter-targets", crash.id), {**said, "usual": list(usual)})
    return list(RULE.look(Recording([Script("train.py", text, True), crash, answer])))


def test_names_of_another_model() -> None:
    (finding,) = told(NAMED, ["q_proj"], usual=("c_attn",))
    assert finding.place == Place("train.py", 2, 2)
    assert finding.headline == (
        "`GPT2` has no layer named `q_proj`; it has `c_attn` and `lm_head`."
    )
    first, second = finding.fixes
    assert isinstance(first.must, AdaptersMove)
    assert first.edit is not None
    assert "LoraConfig(r=4)" in patched(first.edit, NAMED)
    assert second.why_not_tried


def test_a_test_for_linear_layers_passes_over_all_of_them() -> None:
    (finding,) = told(COLLECTED, [])
    assert finding.place == Place("train.py", 4, 4)
    (fix,) = finding.fixes
    assert fix.edit is not None
    new = patched(fix.edit, COLLECTED)
    assert "isinstance(m, (nn.Linear, Conv1D))" in new
    assert "from transformers.pytorch_utils import Conv1D" in new


def test_names_that_are_there_are_no_fault() -> None:
    assert told(NAMED, ["c_attn"]) == []
    assert told(NAMED, ["transformer.h.0.c_attn", "x"]) == []
    assert told(NAMED, "all-linear") == []


def test_names_that_come_in_a_dictionary_are_changed_there() -> None:
    text = NAMED.replace('target_modules=["q_proj"]', "**more")
    text = f'more = {{\n    "target_modules": ["q_proj"],\n}}\n{text}'
    (finding,) = told(text, ["q_proj"], usual=("c_attn", "c_proj"))
    assert finding.place == Place("train.py", 2, 2)
    edit = finding.fixes[0].edit
    assert edit is not None
    assert '"target_modules": ["c_attn", "c_proj"],' in patched(edit, text)
    from_elsewhere = text.replace('["q_proj"]', "read()")
    (finding,) = told(from_elsewhere, ["q_proj"], usual=("c_attn",))
    assert [fix.edit for fix in finding.fixes] == [None]
