"""What was trained can be loaded by `peft` and `transformers`, with the same answers."""

from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
import torch

from surefit.models.load import find_model, load_model, load_tokenizer
from surefit.models.lora import add_lora
from surefit.models.save import save_merged, save_trained

IDS = torch.tensor([[5, 6, 7, 8, 9]])


def trained_adapter(model: Any) -> Any:
    """Adapters that do something: their second halves start at nought."""
    adapted = add_lora(deepcopy(model), 4, None, 0.0, ("all-linear",)).eval()
    torch.manual_seed(5)
    with torch.no_grad():
        for name, weight in adapted.named_parameters():
            if "lora_B" in name:
                weight.normal_(std=0.05)
    return adapted


@torch.no_grad()
def logits(model: Any) -> torch.Tensor:
    made: torch.Tensor = model.eval()(IDS).logits
    return made


def test_an_adapter_loads_with_peft(tmp_path: Path, tiny_model: Any, small_tokenizer: Any) -> None:
    from peft import PeftModel
    from transformers import AutoTokenizer

    model = trained_adapter(tiny_model)
    save_trained(model, small_tokenizer, tmp_path / "adapter")
    again = PeftModel.from_pretrained(deepcopy(tiny_model), str(tmp_path / "adapter"))
    assert torch.equal(logits(again), logits(model))
    assert not torch.allclose(logits(again), logits(tiny_model), atol=1e-3)
    beside = AutoTokenizer.from_pretrained(tmp_path / "adapter")
    assert beside.get_vocab() == small_tokenizer.get_vocab()
    assert beside.pad_token_id == small_tokenizer.pad_token_id
    assert not list((tmp_path / "adapter").glob("model*.safetensors"))


def test_a_model_trained_whole_loads_with_transformers(
    tmp_path: Path, tiny_model: Any, small_tokenizer: Any
) -> None:
    save_trained(tiny_model, small_tokenizer, tmp_path / "model")
    source = find_model(str(tmp_path / "model"))
    assert torch.equal(logits(load_model(source)), logits(tiny_model))
    assert load_tokenizer(source).eos_token_id == small_tokenizer.eos_token_id


def test_a_merged_model_needs_no_adapter(
    tmp_path: Path, tiny_model: Any, small_tokenizer: Any
) -> None:
    model = trained_adapter(tiny_model)
    wanted = logits(model)
    save_trained(model, small_tokenizer, tmp_path / "adapter")
    save_merged(deepcopy(tiny_model), tmp_path / "adapter", small_tokenizer, tmp_path / "merged")
    merged = load_model(find_model(str(tmp_path / "merged")))
    assert type(merged) is type(tiny_model)
    torch.testing.assert_close(logits(merged), wanted, rtol=1e-4, atol=1e-5)


def test_nothing_is_left_of_a_save_that_failed(
    tmp_path: Path, tiny_model: Any, small_tokenizer: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    save_trained(tiny_model, small_tokenizer, tmp_path / "model")
    before = {file.name: file.read_bytes() for file in (tmp_path / "model").iterdir()}

    class Failing:
        """A tokenizer that cannot be saved."""

        def save_pretrained(self, _: Path) -> None:
            raise RuntimeError("no")

    monkeypatch.setattr(tiny_model.config, "use_cache", False)
    with pytest.raises(RuntimeError, match="no"):
        save_trained(tiny_model, Failing(), tmp_path / "model")
    assert [path.name for path in tmp_path.iterdir()] == ["model"]
    assert {file.name: file.read_bytes() for file in (tmp_path / "model").iterdir()} == before
