"""Adapters for layers that are not there, on hand-made recordings."""

from collections.abc import Sequence
from textwrap import dedent
from typing import Any

from lineages import Step, lineage_answer
from looking import look
from surefit.doctor.conditions.adapters import AdaptersMove
from surefit.doctor.findings import Finding, Place
from surefit.doctor.observations import Answer, Crash, Frame, Process, Question, Script, Value
from surefit.lineage.producers import Way
from surefit.rules.model.adapter_targets_missing import RULE
from surefit.source.edits import patched
from surefit.source.reading import Source

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


CONFIG = Value("config", "LoraConfig", 4)
NAMES = Value("names", "list", 5, length=1)


def told(
    text: str, targets: Any, usual: tuple[str, ...] = (), chain: Sequence[Step] = ()
) -> list[Finding]:
    line = text.count("\n")
    frames = (
        Frame(Place("train.py", line), "<module>", own=True, line="model = ...", values=(CONFIG,)),
        Frame(Place("peft/tuners/tuners_utils.py", 9), "inject_adapter", own=False),
    )
    crash = Crash("1-1", 1.0, Process(1), "ValueError", "ValueError: x", frames)
    said = {"model": "GPT2", "type": "gpt2", "targets": targets, "layers": LAYERS}
    answer = Answer(Question("adapter-targets", crash.id), {**said, "usual": list(usual)})
    known = lineage_answer(crash, Source("train.py", text), {(0, "config"): chain})
    return look(RULE, [Script("train.py", text, True), crash, answer, known])


def test_names_of_another_model() -> None:
    call = 'LoraConfig(r=4, target_modules=["q_proj"])'
    chain: list[Step] = [(call, CONFIG), ('["q_proj"]', NAMES, Way.ARGUMENT, "target_modules")]
    (finding,) = told(NAMED, ["q_proj"], ("c_attn",), chain)
    assert finding.place.line == 2
    assert finding.headline == (
        "`GPT2` has no layer named `q_proj`; it has `c_attn` and `lm_head`."
    )
    edits = [patched(fix.edit, NAMED) for fix in finding.fixes if fix.edit is not None]
    assert "LoraConfig(r=4)" in edits[0]
    assert 'LoraConfig(r=4, target_modules=["c_attn"])' in edits[1]
    assert 'LoraConfig(r=4, target_modules="all-linear")' in edits[2]
    assert all(isinstance(fix.must, AdaptersMove) for fix in finding.fixes)
    assert [fix.choice for fix in finding.fixes] == [False, False, True]


def test_a_test_for_linear_layers_leaves_all_of_them_out() -> None:
    listed = "[n for n, m in model.named_modules() if isinstance(m, nn.Linear)]"
    chain: list[Step] = [
        ("LoraConfig(r=4, target_modules=found)", CONFIG),
        ("found", NAMES, Way.ARGUMENT, "target_modules"),
        (listed, NAMES, Way.BINDING, "found"),
    ]
    (finding,) = told(COLLECTED, [], chain=chain)
    assert finding.place.line == 4
    edit = finding.fixes[0].edit
    assert edit is not None
    assert "isinstance(m, (nn.Linear, Conv1D))" in patched(edit, COLLECTED)
    assert "from transformers.pytorch_utils import Conv1D" in patched(edit, COLLECTED)


def test_names_that_are_there_are_no_fault() -> None:
    assert told(NAMED, ["c_attn"]) == []
    assert told(NAMED, ["transformer.h.0.c_attn", "x"]) == []
    assert told(NAMED, "all-linear") == []
