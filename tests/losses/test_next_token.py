"""The loss is the model's own, by tokens, however its rows are put into batches."""

from itertools import pairwise
from typing import Any

import pytest
import torch

from allocations import allocations
from surefit.data.batches import Batch, PadRows
from surefit.data.tokens import IGNORED
from surefit.losses.next_token import NextTokenLoss, Way
from surefit.losses.places import CHUNK, supervised_places
from tiny_models import VOCABULARY, tiny, with_adapters

Rows = list[dict[str, list[int]]]

WAYS: tuple[Way, ...] = ("chunks", "places", "tokens")

SHAPES = [(12, 2), (5, 3), (20, 17), (7, 1), (9, 5), (16, 2)]
"""Tokens of a row, and how many of them are its answer."""


def some_rows() -> Rows:
    """Unequal lengths, and shares of supervised tokens that are more unequal still."""
    random = torch.Generator().manual_seed(3)
    rows = []
    for length, answer in SHAPES:
        ids = torch.randint(2, 1536, (length,), generator=random).tolist()
        labels = [IGNORED] * (length - answer) + ids[length - answer :]
        rows.append({"input_ids": ids, "labels": labels})
    return rows


def batch_of(rows: Rows) -> Batch:
    return PadRows(pad_id=0)(rows)


def gradients(model: Any, batches: list[Batch]) -> tuple[float, dict[str, torch.Tensor]]:
    model.zero_grad(set_to_none=True)
    loss_of = NextTokenLoss(model)
    places = sum(supervised_places(batch["labels"]) for batch in batches)
    total = 0.0
    for batch in batches:
        loss = loss_of(**batch, places=places)
        loss.backward()
        total += float(loss.detach())
    grads = {name: p.grad.clone() for name, p in model.named_parameters() if p.grad is not None}
    return total, grads


def test_it_is_the_models_own_loss(tiny_model: Any) -> None:
    batch = batch_of(some_rows())
    own = tiny_model(**batch).loss
    loss = NextTokenLoss(tiny_model)(**batch, places=supervised_places(batch["labels"]))
    torch.testing.assert_close(loss, own, rtol=1e-6, atol=0)


def test_it_is_the_models_own_gradient(tiny_model: Any) -> None:
    model = tiny_model.double()
    batch = batch_of(some_rows())
    model(**batch).loss.backward()
    own = {name: p.grad.clone() for name, p in model.named_parameters() if p.grad is not None}
    _, grads = gradients(model, [batch])
    assert grads.keys() == own.keys()
    # The logits are made fp32 before the loss, as transformers makes them.
    for name in own:
        torch.testing.assert_close(grads[name], own[name], rtol=1e-4, atol=1e-7)


@pytest.mark.parametrize("cuts", [(1, 2, 3, 4, 5), (2, 4), (3,), (1,), (5,)])
def test_accumulation_weighs_tokens_and_not_batches(tiny_model: Any, cuts: tuple[int, ...]) -> None:
    model = tiny_model.double()
    rows = some_rows()
    ends = [0, *cuts, len(rows)]
    parts = [batch_of(rows[a:b]) for a, b in pairwise(ends)]
    loss, at_once = gradients(model, [batch_of(rows)])
    loss_in_parts, in_parts = gradients(model, parts)
    assert loss_in_parts == pytest.approx(loss, rel=1e-6)
    largest = max(float(grad.abs().max()) for grad in at_once.values())
    assert largest > 1e-3
    for name, grad in at_once.items():
        assert float((in_parts[name] - grad).abs().max()) < 1e-6 * largest, name


def test_right_padding_changes_nothing(tiny_model: Any) -> None:
    model = tiny_model.double()
    (row, *_) = some_rows()
    alone = batch_of([row])
    long = {"input_ids": [5] * 40, "labels": [IGNORED] * 40}
    padded = {name: tensor[:1] for name, tensor in batch_of([row, long]).items()}
    assert padded["input_ids"].shape[1] == 40
    loss, grads = gradients(model, [alone])
    loss_padded, grads_padded = gradients(model, [padded])
    assert loss_padded == pytest.approx(loss, rel=1e-6)
    for name, grad in grads.items():
        torch.testing.assert_close(grads_padded[name], grad, rtol=1e-4, atol=1e-8)


def test_what_padding_holds_changes_nothing(tiny_model: Any) -> None:
    batch = batch_of(some_rows())
    other = PadRows(pad_id=77)(some_rows())
    places = supervised_places(batch["labels"])
    loss_of = NextTokenLoss(tiny_model)
    torch.testing.assert_close(loss_of(**batch, places=places), loss_of(**other, places=places))


def test_the_loss_of_a_place_is_that_of_its_next_token(tiny_model: Any) -> None:
    """By hand, from the model's probabilities."""
    row = {"input_ids": [5, 6, 7, 1], "labels": [IGNORED, IGNORED, 7, 1]}
    logits = tiny_model(torch.tensor([row["input_ids"]])).logits[0]
    wanted = -sum(logits[place].log_softmax(-1)[label] for place, label in [(1, 7), (2, 1)]) / 2
    loss = NextTokenLoss(tiny_model)(**batch_of([row]), places=2)
    torch.testing.assert_close(loss, wanted)


def test_the_first_place_of_a_row_has_no_prediction() -> None:
    assert supervised_places(torch.tensor([[5, 6, 7], [IGNORED, IGNORED, 7]])) == 3


def test_a_batch_without_a_supervised_place_gives_nought(tiny_model: Any) -> None:
    batch = batch_of([{"input_ids": [5, 6], "labels": [IGNORED, IGNORED]}])
    assert float(NextTokenLoss(tiny_model)(**batch, places=8).detach()) == 0


# The lean loss, and the model's own


def loss_and_gradients(model: Any, batch: Batch, way: Way) -> tuple[float, dict[str, torch.Tensor]]:
    model.zero_grad(set_to_none=True)
    loss_of = NextTokenLoss(model)
    loss_of.way = way
    loss = loss_of(**batch, places=supervised_places(batch["labels"]))
    loss.backward()
    return loss.item(), {n: p.grad for n, p in model.named_parameters() if p.grad is not None}


def small_batch() -> Batch:
    rows = [
        {"input_ids": [1 + token % (VOCABULARY - 1) for token in row["input_ids"]]}
        for row in some_rows()
    ]
    for row, (length, answer) in zip(rows, SHAPES, strict=True):
        row["labels"] = [IGNORED] * (length - answer) + row["input_ids"][length - answer :]
    return batch_of(rows)


@pytest.mark.parametrize("adapters", [False, True], ids=["full", "adapters"])
@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("llama", {}),
        ("qwen3", {"tie_word_embeddings": True}),
        ("gpt2", {}),
        ("phi", {}),
        ("mixtral", {}),
    ],
)
def test_the_lean_loss_is_the_models_own(
    name: str, settings: dict[str, Any], adapters: bool
) -> None:
    model = tiny(name, **settings)
    if adapters:
        model = with_adapters(model, ["q_proj"] if name == "mixtral" else "all-linear")
    model = model.double()
    assert NextTokenLoss(model).way == "chunks"
    own, gradients = loss_and_gradients(model, small_batch(), "tokens")
    lean, lean_gradients = loss_and_gradients(model, small_batch(), "chunks")
    assert lean == pytest.approx(own, rel=1e-12)
    assert lean_gradients.keys() == gradients.keys()
    for weight, gradient in gradients.items():
        assert gradient.any(), weight
        torch.testing.assert_close(lean_gradients[weight], gradient, rtol=1e-9, atol=1e-13)


@pytest.mark.parametrize("name", ["gemma2", "cohere", "granite"])
def test_a_head_that_works_inside_the_model_sees_supervised_places_only(name: str) -> None:
    """What is done to logits behind it is done to those of the places."""
    model = tiny(name, "eager", tie_word_embeddings=False)
    model = with_adapters(model, ["q_proj", "lm_head"]).double()
    own, gradients = loss_and_gradients(model, small_batch(), "tokens")
    seen: list[torch.Size] = []
    model.base_model.model.lm_head.register_forward_hook(
        lambda _, __, logits: seen.append(logits.shape)
    )
    lean, lean_gradients = loss_and_gradients(model, small_batch(), "places")
    assert seen == [(1, sum(answer for _, answer in SHAPES), VOCABULARY)]
    assert lean == pytest.approx(own, rel=1e-12)
    assert any("lm_head" in name for name in gradients)
    for weight, gradient in gradients.items():
        torch.testing.assert_close(lean_gradients[weight], gradient, rtol=1e-9, atol=1e-13)


def test_a_head_that_is_the_embedding_has_the_gradients_of_both() -> None:
    """Tied: what the head learns and what the embedding learns is one number."""
    batch = small_batch()
    tied = tiny("qwen3", tie_word_embeddings=True).double()
    apart = tiny("qwen3", tie_word_embeddings=False).double()
    apart.load_state_dict(tied.state_dict() | {"lm_head.weight": tied.model.embed_tokens.weight})
    _, one = loss_and_gradients(tied, batch, "chunks")
    _, two = loss_and_gradients(apart, batch, "chunks")
    name = "model.embed_tokens.weight"
    torch.testing.assert_close(one[name], two[name] + two["lm_head.weight"], rtol=1e-9, atol=1e-13)


def test_a_frozen_embedding_is_given_no_gradient() -> None:
    model = with_adapters(tiny("gpt2"))
    _, gradients = loss_and_gradients(model, small_batch(), "chunks")
    assert gradients
    assert all("lora_" in name for name in gradients)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_half_precision(dtype: torch.dtype) -> None:
    model = tiny("llama")
    with torch.autocast("cpu", dtype):
        own, gradients = loss_and_gradients(model, small_batch(), "tokens")
        lean, lean_gradients = loss_and_gradients(model, small_batch(), "chunks")
    assert lean == pytest.approx(own, rel=1e-6)
    for name, gradient in gradients.items():
        difference = (lean_gradients[name] - gradient).norm()
        assert difference < 2e-2 * gradient.norm(), name


@pytest.mark.parametrize("way", WAYS)
def test_a_batch_without_a_supervised_place_still_goes_back(tiny_model: Any, way: Way) -> None:
    """Every process goes back as often as the others, whatever it was given."""
    batch = batch_of([{"input_ids": [5, 6], "labels": [IGNORED, IGNORED]}])
    loss_of = NextTokenLoss(tiny_model)
    loss_of.way = way
    loss = loss_of(**batch, places=8)
    assert loss.item() == 0
    loss.backward()
    for name, parameter in tiny_model.named_parameters():
        assert parameter.grad is not None, name
        assert not parameter.grad.any(), name


def test_places_can_be_a_tensor(tiny_model: Any) -> None:
    batch = batch_of(some_rows())
    loss_of = NextTokenLoss(tiny_model)
    torch.testing.assert_close(
        loss_of(**batch, places=torch.tensor(30)), loss_of(**batch, places=30)
    )


@pytest.mark.parametrize("attention", ["sdpa", "eager"])
def test_the_logits_of_a_batch_are_never_made(attention: str) -> None:
    """Larger than anything else in this model would be those of all tokens, or of all places."""
    vocabulary, rows, tokens = 3000, 8, 160
    model = with_adapters(tiny("llama", attention, vocab_size=vocabulary, hidden_size=8))
    ids = torch.randint(2, vocabulary, (rows, tokens), generator=torch.Generator().manual_seed(0))
    loss_of = NextTokenLoss(model)
    chunk = CHUNK * vocabulary * 4
    labels = ids.clone()
    labels[:, : tokens // 2] = IGNORED
    made = {}
    for way in WAYS:
        loss_of.way = way
        with allocations() as allocated:
            loss_of(input_ids=ids, labels=labels, places=1).backward()
        made[way] = allocated
    assert made["chunks"].largest == chunk
    assert made["places"].largest == rows * tokens // 2 * vocabulary * 4
    assert made["tokens"].largest == rows * tokens * vocabulary * 4
    assert made["chunks"].peak < made["places"].peak / 2


def test_accelerate_is_told_which_layers_to_shard() -> None:
    """And of no head: one that was sharded apart would have no whole weight in the loss."""
    loss_of = NextTokenLoss(with_adapters(tiny("llama")))
    assert loss_of._no_split_modules == ["LlamaDecoderLayer"]
    assert loss_of.config.model_type == "llama"
    assert not hasattr(loss_of, "get_output_embeddings")
    loss_of.tie_weights()
