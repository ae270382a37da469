"""Rows are answered and scored side by side with their targets; a failure is never a score."""

from typing import Any

import pytest
import torch

from surefit.data.rows import Row, Turn
from surefit.data.templates import PLAIN, PlainTemplate
from surefit.data.tokens import RowTokenizer, TokenSet, tokenize
from surefit.doctor.findings import Place
from surefit.metrics.evaluation import evaluate
from surefit.models.answer import Share


class Echo(torch.nn.Module):
    """A stand-in for a model that says the words between `say` and the question's end."""

    def __init__(self, tokenizer: Any) -> None:
        super().__init__()
        self.tokenizer = tokenizer
        self.device = torch.device("cpu")
        self.generation_config: Any = None
        self.calls = 0

    def generate(self, **given: Any) -> torch.Tensor:
        self.calls += 1
        rows = []
        for ids in given["input_ids"].tolist():
            asked = self.tokenizer.decode(ids, skip_special_tokens=True)
            said = asked.partition("say ")[2].removesuffix("\nAnswer:")
            rows.append(self.tokenizer(f" {said}")["input_ids"] + [self.tokenizer.eos_token_id])
        longest = max(map(len, rows))
        pad = self.tokenizer.pad_token_id
        new = torch.tensor([row + [pad] * (longest - len(row)) for row in rows])
        return torch.cat([given["input_ids"], new], dim=1)


def token_set(tokenizer: Any, *pairs: tuple[str, str]) -> TokenSet:
    rows = [
        Row(
            10 + number,
            Place("rows.jsonl", line=11 + number),
            (Turn("user", f"Please say {asked}"), Turn("assistant", target)),
        )
        for number, (asked, target) in enumerate(pairs)
    ]
    return tokenize(rows, RowTokenizer(tokenizer, PlainTemplate(PLAIN), 200))


@pytest.mark.parametrize("batch_size", [1, 2, 10])
def test_each_answer_meets_its_own_target(small_tokenizer: Any, batch_size: int) -> None:
    rows = token_set(
        small_tokenizer,
        ("the long way round to Vuwick", "the long way round to Vuwick"),
        ("Ann", "Ann"),
        ("Plivim", "Plivim Foods"),
        ("nothing of it", "W-681"),
    )
    told: list[int] = []
    made = evaluate(
        Echo(small_tokenizer),
        small_tokenizer,
        rows,
        max_new_tokens=9,
        batch_size=batch_size,
        each=told.append,
    )
    assert made.score.f1 == pytest.approx((1 + 1 + 2 / 3 + 0) / 4)
    assert made.score.exact_match == 0.5
    assert made.score.rows == sum(told) == 4
    assert [one["answer"] for one in made.predictions] == [
        "the long way round to Vuwick",
        "Ann",
        "Plivim",
        "nothing of it",
    ]
    assert made.predictions[2] == {
        "row": 13,
        "place": "rows.jsonl:13",
        "input": "Please say Plivim",
        "target": "Plivim Foods",
        "answer": "Plivim",
        "f1": pytest.approx(2 / 3),
        "exact_match": False,
    }


@pytest.mark.parametrize("world", [1, 2, 3, 7])
@pytest.mark.parametrize("in_step", [False, True])
def test_processes_share_the_rows_and_all_get_all(
    small_tokenizer: Any, world: int, in_step: bool
) -> None:
    names = ["Ann", "Bob and Ann", "Vuwick", "the long way round", "Plivim"]
    rows = token_set(small_tokenizer, *[(name, name) for name in names])
    models = [Echo(small_tokenizer) for _ in range(world)]
    told: list[list[int]] = [[] for _ in range(world)]
    sent: list[list[tuple[int, str]]] = []

    def run(rank: int, gathered: Any) -> Any:
        return evaluate(
            models[rank],
            small_tokenizer,
            rows,
            max_new_tokens=9,
            batch_size=2,
            share=Share(rank, world, in_step),
            gathered=gathered,
            each=told[rank].append,
        )

    def keep(mine: list[tuple[int, str]]) -> list[tuple[int, str]]:
        sent.append(mine)
        return [(index, "") for index in range(len(names))]

    for rank in range(world):
        run(rank, keep)
    places = [place for mine in sent for place, _ in mine]
    assert sorted(places) == list(range(len(names))), "every row once"
    rounds = [len(counts) for counts in told]
    assert set(rounds) == {-(-3 // world)}, "equally often on all"
    assert all(sum(counts) == len(names) for counts in told)
    calls = [model.calls for model in models]
    assert sum(calls) == (max(rounds) * world if in_step else 3)

    whole = [answered for mine in sent for answered in mine]
    made = run(world - 1, lambda _: whole)
    assert made.score.f1 == 1
    assert [one["answer"] for one in made.predictions] == names


def test_the_model_is_not_shown_the_target(small_tokenizer: Any) -> None:
    rows = token_set(small_tokenizer, ("Ann", "Bob"))
    made = evaluate(Echo(small_tokenizer), small_tokenizer, rows, max_new_tokens=9, batch_size=1)
    assert made.predictions[0]["answer"] == "Ann"
    assert made.score.f1 == 0


def test_a_batch_that_fails_is_an_error_and_not_a_score(small_tokenizer: Any) -> None:
    class Failing(Echo):
        """Fails in the second batch."""

        def generate(self, **given: Any) -> torch.Tensor:
            if self.calls == 1:
                raise IndexError("index out of range in self")
            return super().generate(**given)

    rows = token_set(small_tokenizer, ("Ann", "Ann"), ("Bob", "Bob"))
    with pytest.raises(IndexError, match="out of range"):
        evaluate(Failing(small_tokenizer), small_tokenizer, rows, max_new_tokens=9, batch_size=1)


def test_no_rows_have_no_score(embedded_model: Any, small_tokenizer: Any) -> None:
    with pytest.raises(ValueError, match="no row"):
        evaluate(
            embedded_model,
            small_tokenizer,
            tokenize([], RowTokenizer(small_tokenizer, PlainTemplate(PLAIN), 200)),
            max_new_tokens=2,
            batch_size=2,
        )
