"""Weights in 4 bits: adapters learn on them with true gradients, or a word says why not here."""

import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import nn

from surefit import environment
from surefit.errors import BadInput, SurefitError, WrongCall
from surefit.installing import install_command
from surefit.models.answer import answers
from surefit.models.load import find_model, load_model, load_tokenizer
from surefit.models.lora import add_lora, count_trainable
from surefit.models.quantised import (
    bytes_of,
    check_four_bit,
    keep_gradients,
    quantise,
    weights_in,
)


def refusal_of(error: type[SurefitError], **given: bool) -> Any:
    with pytest.raises(error) as caught:
        check_four_bit("cpu", **given)
    (found,) = caught.value.findings
    return found


# Where it does not serve


def test_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(environment, "version_of", lambda _: "not installed")
    found = refusal_of(BadInput)
    assert (found.code, found.rule) == ("SF167", "no-4bit-here")
    assert found.headline.endswith("is not installed.")
    assert found.fixes[0].text == install_command("4bit")
    assert "--precision bf16" in found.fixes[1].text


def test_installed_and_of_no_use_on_this_device(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object) -> None:
        raise RuntimeError("no kernel for this device\nand much more")

    monkeypatch.setattr(environment, "version_of", lambda _: "0.50.2")
    monkeypatch.setattr(environment, "train_through_four_bits", fails)
    found = refusal_of(BadInput)
    assert found.headline == "`--load-in-4bit` does not work on `cpu` here."
    assert found.facts[1].value.endswith("forward and back: no kernel for this device")


def test_all_weights_cannot_be_trained_in_four_bits() -> None:
    found = refusal_of(WrongCall, full=True)
    assert (found.code, found.rule) == ("SF168", "4bit-trained-whole")
    assert len(found.fixes) == 2


def test_packed_weights_are_counted_by_what_they_stand_for() -> None:
    weight = nn.Parameter(torch.zeros(64, 1, dtype=torch.uint8), requires_grad=False)
    plain = nn.Linear(4, 4, bias=False)
    assert weights_in(plain.weight) == 16
    assert bytes_of(plain.weight) == 64
    scales = SimpleNamespace(absmax=torch.zeros(2), code=torch.zeros(4))
    state = SimpleNamespace(
        shape=torch.Size([16, 8]), absmax=torch.zeros(2, dtype=torch.uint8), state2=scales
    )
    weight.quant_state = state  # type: ignore[attr-defined]
    assert weights_in(weight) == 128
    assert bytes_of(weight) == 64 + 2 + 8 + 16


def test_a_model_without_such_layers_is_left_alone(tiny_model: Any) -> None:
    before = {name: id(module) for name, module in tiny_model.named_modules()}
    keep_gradients(tiny_model)
    assert before == {name: id(module) for name, module in tiny_model.named_modules()}


# Where it does: every test below needs bitsandbytes

ASIDE = Path(sys.prefix) / "4bit"
"""Not among the other packages: PEFT imports it wherever it finds it, which takes seconds."""


@pytest.mark.slow
@pytest.mark.skipif(not ASIDE.exists(), reason="`make setup` puts bitsandbytes there")
def test_with_bitsandbytes() -> None:
    """Those below that are skipped here, in a process that has it."""
    needs_it = "gradients_are_those or adapters_learn"
    call = [sys.executable, "-m", "pytest", "-p", "no:xdist", "-k", needs_it, __file__]
    environment = {**os.environ, "PYTHONPATH": str(ASIDE)}
    done = subprocess.run(call, env=environment, capture_output=True, text=True, check=False)
    assert "3 passed" in done.stdout, done.stdout + done.stderr


@pytest.fixture
def four_bit() -> Any:
    module = pytest.importorskip("bitsandbytes")
    if environment.four_bit(torch, "cpu") != "works":
        pytest.skip("bitsandbytes does not serve this processor")
    return module


@pytest.fixture(params=["loaded", "quantised in memory"])
def pair(
    request: pytest.FixtureRequest, four_bit: Any, tmp_path: Path, tiny_model: Any
) -> tuple[Any, Any]:
    """A model in 4 bits, and one in fp32 that holds the very same numbers."""
    tiny_model.save_pretrained(tmp_path)
    source = find_model(str(tmp_path))
    if request.param == "loaded":
        small = load_model(source, four_bit=True)
    else:
        small = quantise(load_model(source), torch.float32)
        keep_gradients(small)
    layers = [
        (name, layer)
        for name, layer in small.named_modules()
        if isinstance(layer, four_bit.nn.Linear4bit)
    ]
    assert len(layers) == 2 * 7
    with torch.no_grad():
        for name, layer in layers:
            held = four_bit.functional.dequantize_4bit(layer.weight.data, layer.weight.quant_state)
            tiny_model.get_submodule(name).weight.copy_(held)
    return small, tiny_model


def test_gradients_are_those_of_the_same_numbers_after_an_answer_too(
    pair: tuple[Any, Any],
) -> None:
    """After one answer bitsandbytes repacks weights on some processors, and gradients are lost."""
    ids = torch.randint(2, 1536, (2, 12), generator=torch.Generator().manual_seed(0))
    found = []
    for model in pair:
        torch.manual_seed(1)
        adapted = add_lora(model, 4, None, 0.0, ("all-linear",))
        for name, parameter in adapted.named_parameters():
            if "lora_B" in name:
                nn.init.normal_(parameter)  # at 0 no gradient would reach earlier layers
        with torch.no_grad():
            adapted.eval()(ids)
        adapted.train()(input_ids=ids, labels=ids, use_cache=False).loss.backward()
        found.append({n: p.grad for n, p in adapted.named_parameters() if p.requires_grad})
    assert {gradient.dtype for gradient in found[0].values()} == {torch.float32}
    for name, gradient in found[0].items():
        torch.testing.assert_close(gradient, found[1][name], rtol=1e-3, atol=1e-5, msg=name)


@pytest.mark.usefixtures("four_bit")
def test_adapters_learn_and_are_saved_and_answer_as_before(tmp_path: Path) -> None:
    from peft import PeftModel

    source = find_model("embedded")
    tokenizer = load_tokenizer(source)
    torch.manual_seed(0)
    model = load_model(source, four_bit=True)
    whole = count_trainable(load_model(source)).all
    assert count_trainable(model).all == whole
    assert sum(bytes_of(p) for p in model.parameters()) < 4 * whole / 2
    model = add_lora(model, 8, None, 0.0, ("all-linear",)).train()
    optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=6e-3)
    ids = torch.tensor([tokenizer("Who keeps the bees?\nAnswer: Mara")["input_ids"]])
    losses = []
    for _ in range(15):
        loss = model(input_ids=ids, labels=ids, use_cache=False).loss
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        losses.append(loss.item())
    assert losses[-1] < 0.5 * losses[0]
    model.save_pretrained(tmp_path, save_embedding_layers=False)
    again = PeftModel.from_pretrained(load_model(source, four_bit=True), str(tmp_path))
    prompts = [ids[0, :8].tolist()]
    said = [
        answers(one.eval(), tokenizer, prompts, max_new_tokens=6, batch_size=1)
        for one in (model, again)
    ]
    assert said[0] == said[1]
    assert said[0] != [""]
