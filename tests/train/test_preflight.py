"""What cannot work stops before the first step, and what can is left as it was."""

import math
import random
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import psutil
import pytest
import torch
from torch import nn

from surefit.data.batches import Batch, PadRows
from surefit.data.packing import PackRows
from surefit.data.rows import Row, Turn
from surefit.data.templates import PLAIN, PlainTemplate
from surefit.data.tokens import IGNORED, RowTokenizer, Tokens, TokenSet
from surefit.doctor.findings import Finding, Place
from surefit.errors import BadInput
from surefit.losses.next_token import NextTokenLoss
from surefit.models.lora import add_lora
from surefit.train import preflight as preflight_file
from surefit.train.preflight import check_read_back, check_tokens, memory_forecast, preflight


def some_batch(rows: int = 4, length: int = 24) -> Batch:
    ids = torch.randint(2, 1536, (rows, length), generator=torch.Generator().manual_seed(0))
    answer = length // 2
    return PadRows(pad_id=0)(
        [{"input_ids": row, "labels": [IGNORED] * answer + row[answer:]} for row in ids.tolist()]
    )


def packed_batch(rows: int = 4, length: int = 24) -> Batch:
    batch = some_batch(rows, length)
    return PackRows()(
        [
            {"input_ids": ids, "labels": labels}
            for ids, labels in zip(batch["input_ids"], batch["labels"], strict=True)
        ]
    )


def row_of(ids: list[int], number: int = 4) -> Tokens:
    return Tokens(ids, list(ids), 1, number)


def refusal_of(call: Callable[..., object], *given: Any) -> Finding:
    with pytest.raises(BadInput) as caught:
        call(*given)
    (found,) = caught.value.findings
    return found


def free_bytes(monkeypatch: pytest.MonkeyPatch, count: float) -> None:
    monkeypatch.setattr(psutil, "virtual_memory", lambda: SimpleNamespace(available=int(count)))
    # It would hold for all later tests of this process.
    monkeypatch.setattr(preflight_file, "give_back_freed_memory", lambda: None)


# One batch there and back


def test_the_loss_is_that_of_the_whole_batch(tiny_model: Any) -> None:
    batch = some_batch()
    loss, _ = preflight(NextTokenLoss(tiny_model), batch)
    assert loss == pytest.approx(float(tiny_model(**batch).loss.detach()), rel=1e-6)
    assert loss == pytest.approx(math.log(1536), rel=0.05), "random weights know nothing"


def test_packed_rows_have_the_loss_of_padded_ones(tiny_model: Any) -> None:
    loss_of = NextTokenLoss(tiny_model)
    padded, _ = preflight(loss_of, some_batch())
    packed, memory = preflight(loss_of, packed_batch())
    assert packed == pytest.approx(padded, rel=1e-5)
    assert memory.activations > 0


def test_the_way_back_is_the_runs_own(tiny_model: Any) -> None:
    ways: list[float] = []

    def scaled(loss: torch.Tensor) -> None:
        ways.append(float(loss.detach()))
        (loss * 65536).backward()

    loss, _ = preflight(NextTokenLoss(tiny_model), some_batch(), backward=scaled)
    assert ways == [loss]


@pytest.mark.parametrize("dropout", [0.0, 0.5])
def test_nothing_is_changed(tiny_model: Any, dropout: float) -> None:
    model = add_lora(tiny_model, 4, None, dropout, ("all-linear",)).train()
    weights = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    torch.manual_seed(7)
    states = torch.get_rng_state(), random.getstate()
    preflight(NextTokenLoss(model), some_batch())
    assert torch.equal(torch.get_rng_state(), states[0])
    assert random.getstate() == states[1]
    assert all(p.grad is None for p in model.parameters())
    assert model.training
    for name, tensor in model.state_dict().items():
        assert torch.equal(tensor, weights[name]), name


def test_the_random_state_is_put_back_after_a_refusal(tiny_model: Any) -> None:
    model = add_lora(tiny_model, 4, None, 0.5, ("all-linear",)).train()
    with torch.no_grad():
        model.get_input_embeddings().weight.fill_(math.nan)
    state = torch.get_rng_state()
    refusal_of(preflight, NextTokenLoss(model), some_batch())
    assert torch.equal(torch.get_rng_state(), state)
    assert all(p.grad is None for p in model.parameters())


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_weights_that_are_no_numbers(tiny_model: Any, value: float) -> None:
    with torch.no_grad():
        tiny_model.model.layers[0].mlp.up_proj.weight[0, 0] = value
    found = refusal_of(preflight, NextTokenLoss(tiny_model), some_batch())
    assert found.rule == "loss-not-finite"
    assert "nan" in found.headline
    assert found.facts[0].value == str(4 * 12)


def test_all_frozen(tiny_model: Any) -> None:
    tiny_model.requires_grad_(False)
    found = refusal_of(preflight, NextTokenLoss(tiny_model), some_batch())
    assert found.rule == "nothing-to-train"


def test_trained_weights_that_the_loss_does_not_use(tiny_model: Any) -> None:
    tiny_model.requires_grad_(False)
    tiny_model.unused = nn.Linear(3, 3)
    # The loss asks for a gradient, and gives none to the layer that is trained.
    tiny_model.model.embed_tokens.register_forward_hook(
        lambda _, __, out: out + 0 * tiny_model.unused.weight.sum()
    )
    found = refusal_of(preflight, NextTokenLoss(tiny_model), some_batch())
    assert found.rule == "no-gradient"
    assert "none of the 2 trainable tensors" in found.headline


def test_a_trained_layer_that_is_never_called(tiny_model: Any) -> None:
    tiny_model.requires_grad_(False)
    tiny_model.unused = nn.Linear(3, 3)
    found = refusal_of(preflight, NextTokenLoss(tiny_model), some_batch())
    assert found.rule == "no-gradient"


# Memory


def test_activations_grow_with_the_batch(tiny_model: Any) -> None:
    held = [
        preflight(NextTokenLoss(tiny_model), some_batch(rows))[1].activations for rows in (2, 4, 8)
    ]
    assert held[2] - held[1] == pytest.approx(2 * (held[1] - held[0]), rel=0.1)


def test_a_step_without_room_is_refused_before_it_is_tried(
    tiny_model: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    loss_of = NextTokenLoss(add_lora(tiny_model, 4, None, 0.0, ("all-linear",)))
    memory = memory_forecast(loss_of, some_batch(rows=8))
    free_bytes(monkeypatch, memory.beside_weights - memory.activations / 2)
    seen: list[int] = []
    loss_of.register_forward_pre_hook(
        lambda _, __, given: seen.append(len(given["input_ids"])), with_kwargs=True
    )
    found = refusal_of(preflight, loss_of, some_batch(rows=8))
    assert found.rule == "not-enough-memory"
    assert set(seen) == {1}, "the whole batch was made though it had no room"
    assert found.facts[0].value == "8 rows x 24 tokens"
    assert "--batch-size " in found.fixes[0].text
    fits = int(found.fixes[0].text.split("--batch-size ")[1].split()[0])
    assert 3 <= fits <= 4
    assert "--gradient-checkpointing" in found.fixes[1].text


def test_packed_rows_without_room(tiny_model: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    free_bytes(monkeypatch, 1000)
    found = refusal_of(preflight, NextTokenLoss(tiny_model), packed_batch())
    assert found.facts[0].value == "1 rows x 96 tokens"
    assert found.fixes[0].text.endswith("--pack-tokens 48")
    assert all("--batch-size" not in fix.text for fix in found.fixes)


def test_next_to_no_room_still_gives_advice(
    tiny_model: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    free_bytes(monkeypatch, 1000)
    found = refusal_of(preflight, NextTokenLoss(tiny_model), some_batch())
    assert found.fixes[0].text.endswith("--batch-size 1 --accumulate 4")


def test_enough_room_is_enough(tiny_model: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    loss_of = NextTokenLoss(tiny_model)
    memory = memory_forecast(loss_of, some_batch())
    free_bytes(monkeypatch, memory.beside_weights)
    preflight(loss_of, some_batch())


@pytest.mark.parametrize("sizes", [1.9, 2.1])
def test_a_small_batch_goes_instead_where_there_is_ample_room(
    tiny_model: Any, monkeypatch: pytest.MonkeyPatch, sizes: float
) -> None:
    loss_of, small = NextTokenLoss(tiny_model), some_batch(1, 12)
    forecast = memory_forecast(loss_of, some_batch())
    free_bytes(monkeypatch, sizes * forecast.beside_weights)
    told: list[bool] = []
    monkeypatch.setattr(preflight_file, "give_back_freed_memory", lambda: told.append(True))
    loss, memory = preflight(loss_of, some_batch(), instead=small)
    tried = small if sizes > 2 else some_batch()
    assert loss == pytest.approx(preflight(loss_of, tried)[0])
    assert (memory == forecast) == (sizes > 2)
    assert bool(told) == (sizes < 2)


# Tokens and the model


def sets_of(*rows: Tokens) -> list[TokenSet]:
    """The rows in two sets, and one that is empty."""
    row = Row(0, Place("rows.jsonl"), (Turn("user", "Who?"), Turn("assistant", "Ann")))
    parts = [rows[:1], rows[1:], ()]
    return [TokenSet.of([row] * len(part), part) for part in parts]


def test_a_token_without_a_row_in_the_embedding(tiny_model: Any, small_tokenizer: Any) -> None:
    rows = sets_of(row_of([5, 6]), row_of([5, 1536], number=8), row_of([1536], number=9))
    found = refusal_of(check_tokens, rows, small_tokenizer, tiny_model)
    assert found.rule == "token-outside-vocabulary"
    assert "Token 1536" in found.headline
    assert "0 to 1535" in found.headline
    assert found.facts[1].value == "9"


def test_a_row_longer_than_the_model(tiny_model: Any, small_tokenizer: Any) -> None:
    rows = sets_of(row_of([5, 6]), row_of([5] * 129, number=8))
    found = refusal_of(check_tokens, rows, small_tokenizer, tiny_model)
    assert found.rule == "row-longer-than-model"
    assert found.headline == "The longest row has 129 tokens; the model has 128 positions."
    assert found.facts[0].value == "9"
    assert found.fixes[0].text.endswith("--max-tokens 128")


def test_the_last_token_and_the_last_place_are_in_bounds(
    tiny_model: Any, small_tokenizer: Any
) -> None:
    check_tokens(sets_of(row_of([1535] * 128)), small_tokenizer, tiny_model)


# Reading a target back


def tokens_for(tokenizer: Any, target: str) -> Tokens:
    row = Row(0, Place("rows.jsonl"), (Turn("user", "Who?"), Turn("assistant", target)))
    return RowTokenizer(tokenizer, PlainTemplate(PLAIN), 64)(row)


def test_real_tokenizers_read_a_plain_target_back(tokenizer: Any) -> None:
    check_read_back(tokens_for(tokenizer, "for the"), "for the", tokenizer)


def test_a_target_with_letters_that_the_tokenizer_does_not_know() -> None:
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    words = Tokenizer(models.WordLevel({"<unk>": 0, "<eos>": 1, "Ann": 2}, unk_token="<unk>"))
    words.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=words, unk_token="<unk>", eos_token="<eos>", pad_token="<eos>"
    )
    check_read_back(tokens_for(tokenizer, "Ann"), "Ann", tokenizer)
    found = refusal_of(check_read_back, tokens_for(tokenizer, "Ann Öl"), "Ann Öl", tokenizer)
    assert found.rule == "target-not-read-back"
    assert [fact.value for fact in found.facts] == ["Ann Öl", "Ann"]


def test_an_answer_that_does_not_end_is_not_read_back(small_tokenizer: Any) -> None:
    whole = tokens_for(small_tokenizer, "Ann")
    cut = Tokens(whole.ids[:-1], whole.labels[:-1], whole.answer_at, whole.number)
    found = refusal_of(check_read_back, cut, "Ann", small_tokenizer)
    assert found.rule == "target-not-read-back"
