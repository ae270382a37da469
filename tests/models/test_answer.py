"""Answers are the same one by one and in batches, in the order of their prompts."""

from typing import Any

import pytest
import torch

from surefit.data.rows import Row, Turn
from surefit.data.templates import PLAIN, PlainTemplate
from surefit.data.tokens import RowTokenizer
from surefit.doctor.findings import Place
from surefit.models.answer import answers

QUESTIONS = [
    "Who brought it here?",
    "Ann has 54 dollars.\nHow much has she?",
    "The crate of Plivim Foods bears W-681. It came on November 15 from Vuwick, and nobody asked "
    "for it, though it was dear.\nWhat is written on the crate?",
    "x",
    "On November 15 no coach leaves Vuwick for Pluford. Ticket P-540 will be paid back in full.\n"
    "What number has the ticket?",
    "Ann.\nWho?",
]


class Fixed(torch.nn.Module):
    """A stand-in for a model that continues every prompt with the same tokens."""

    def __init__(self, *ids: int) -> None:
        super().__init__()
        self.ids = torch.tensor(ids)
        self.device = torch.device("cpu")
        self.generation_config: Any = None
        self.given: list[dict[str, Any]] = []

    def generate(self, **given: Any) -> torch.Tensor:
        assert not self.training
        self.given.append(given)
        return torch.cat([given["input_ids"], self.ids.expand(len(given["input_ids"]), -1)], dim=1)


@pytest.fixture(scope="module")
def prompts(small_tokenizer: Any) -> list[list[int]]:
    to_tokens = RowTokenizer(small_tokenizer, PlainTemplate(PLAIN), 200)
    turns = [(Turn("user", text), Turn("assistant", "a")) for text in QUESTIONS]
    made = [to_tokens(Row(0, Place("rows.jsonl"), both)).prompt for both in turns]
    assert len({len(prompt) for prompt in made}) == len(made)
    return made


@pytest.mark.parametrize("batch_size", [2, 4, 6, 100])
def test_batches_change_no_answer(
    embedded_model: Any, small_tokenizer: Any, prompts: list[list[int]], batch_size: int
) -> None:
    one_by_one = [
        answers(embedded_model, small_tokenizer, [prompt], max_new_tokens=12, batch_size=1)[0]
        for prompt in prompts
    ]
    counts: list[int] = []
    batched = answers(
        embedded_model,
        small_tokenizer,
        prompts,
        max_new_tokens=12,
        batch_size=batch_size,
        each=counts.append,
    )
    assert batched == one_by_one
    assert len(set(batched)) > 1, "an order that is wrong could not be told"
    assert sum(counts) == len(prompts)
    assert max(counts) <= batch_size


def test_it_is_what_a_plain_loop_gives(
    embedded_model: Any, small_tokenizer: Any, prompts: list[list[int]]
) -> None:
    """Greedy, token for token, without cache, padding or mask."""
    wanted = []
    for prompt in prompts[:3]:
        ids = list(prompt)
        with torch.no_grad():
            for _ in range(8):
                ids.append(int(embedded_model(torch.tensor([ids])).logits[0, -1].argmax()))
                if ids[-1] == small_tokenizer.eos_token_id:
                    break
        new = small_tokenizer.decode(ids[len(prompt) :], skip_special_tokens=True)
        wanted.append(new.strip())
    said = answers(embedded_model, small_tokenizer, prompts[:3], max_new_tokens=8, batch_size=3)
    assert said == wanted


@pytest.mark.parametrize("training", [True, False])
def test_the_mode_is_left_as_it_was(
    tiny_model: Any, small_tokenizer: Any, prompts: list[list[int]], training: bool
) -> None:
    tiny_model.train(training)
    answers(tiny_model, small_tokenizer, prompts[:2], max_new_tokens=2, batch_size=2)
    assert tiny_model.training is training


def test_the_mode_is_left_as_it_was_after_an_error(
    tiny_model: Any, small_tokenizer: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(**_: Any) -> None:
        raise IndexError("index out of range in self")

    monkeypatch.setattr(tiny_model, "generate", failing)
    tiny_model.train()
    with pytest.raises(IndexError):
        answers(tiny_model, small_tokenizer, [[5]], max_new_tokens=2, batch_size=2)
    assert tiny_model.training


def test_padding_is_on_the_left_and_masked(small_tokenizer: Any) -> None:
    model = Fixed(333, 1)
    answers(model, small_tokenizer, [[7, 8, 9], [5]], max_new_tokens=2, batch_size=2)
    (given,) = model.given
    pad = small_tokenizer.pad_token_id
    assert given["input_ids"].tolist() == [[pad, pad, 5], [7, 8, 9]]
    assert given["attention_mask"].tolist() == [[0, 0, 1], [1, 1, 1]]
    assert not given["generation_config"].do_sample


def test_the_text_ends_at_eos(small_tokenizer: Any) -> None:
    ids = small_tokenizer(" Plivim Foods")["input_ids"]
    model = Fixed(*ids, small_tokenizer.eos_token_id, small_tokenizer.pad_token_id)
    said = answers(model, small_tokenizer, [[5], [6]], max_new_tokens=9, batch_size=1)
    assert said == ["Plivim Foods", "Plivim Foods"]


def test_eos_stops_a_model_that_always_says_it(
    tiny_model: Any, small_tokenizer: Any, prompts: list[list[int]]
) -> None:
    tiny_model.tie_weights = lambda *_, **__: None
    head = torch.nn.Linear(32, 1536)
    torch.nn.init.zeros_(head.weight)
    with torch.no_grad():
        head.bias.zero_()
        head.bias[small_tokenizer.eos_token_id] = 1
    calls: list[None] = []
    head.register_forward_hook(lambda *_: calls.append(None))
    tiny_model.lm_head = head
    said = answers(tiny_model, small_tokenizer, prompts[:3], max_new_tokens=20, batch_size=3)
    assert said == ["", "", ""]
    assert len(calls) == 1


@pytest.mark.parametrize(("own", "ends"), [(None, [1]), (1, [1]), (7, [1, 7]), ([7, 9], [1, 7, 9])])
def test_a_model_stops_at_its_own_ends_too(small_tokenizer: Any, own: Any, ends: list[int]) -> None:
    from transformers import GenerationConfig

    model = Fixed(1)
    model.generation_config = GenerationConfig(eos_token_id=own)
    answers(model, small_tokenizer, [[5]], max_new_tokens=2, batch_size=1)
    assert model.given[0]["generation_config"].eos_token_id == ends


def test_no_prompt_no_answer(embedded_model: Any, small_tokenizer: Any) -> None:
    assert answers(embedded_model, small_tokenizer, [], max_new_tokens=2, batch_size=2) == []
