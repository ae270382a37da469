"""Two models share tokens only if their tokenizers are proved to be the same."""

import json
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from surefit.doctor.findings import Finding
from surefit.embedded import MODEL
from surefit.errors import BadInput
from surefit.models.vocabulary import shared_tokens, tokenizer_fingerprint

SIZE = 1536
"""Ids of the embedded tokenizer."""


def refused(*arguments: Any) -> tuple[Finding, ...]:
    with pytest.raises(BadInput) as caught:
        shared_tokens(*arguments)
    return caught.value.findings


def facts(found: Finding) -> dict[str, str]:
    return {fact.name: fact.value for fact in found.facts}


def with_merges_turned(folder: Path) -> Any:
    """The embedded tokenizer, its merges in the opposite order of priority."""
    from transformers import PreTrainedTokenizerFast

    written = json.loads((MODEL / "tokenizer.json").read_text(encoding="utf-8"))
    written["model"]["merges"].reverse()
    (folder / "tokenizer.json").write_text(json.dumps(written), encoding="utf-8")
    return PreTrainedTokenizerFast(
        tokenizer_file=str(folder / "tokenizer.json"), eos_token="<eos>", pad_token="<pad>"
    )


def with_lower_case(tokenizer: Any) -> Any:
    from tokenizers import normalizers

    changed = deepcopy(tokenizer)
    changed.backend_tokenizer.normalizer = normalizers.Lowercase()
    return changed


# What is the same


def test_every_tokenizer_is_the_same_as_itself(tokenizer: Any) -> None:
    highest = max(tokenizer.get_vocab().values())
    again = deepcopy(tokenizer)
    assert shared_tokens(tokenizer, again, highest + 1, highest + 1) == highest + 1
    assert tokenizer_fingerprint(tokenizer) == tokenizer_fingerprint(again)


def test_a_tokenizer_of_another_class_and_file_is_the_same(
    small_tokenizer: Any, tmp_path: Path
) -> None:
    from transformers import PreTrainedTokenizerFast

    (tmp_path / "other.json").write_bytes((MODEL / "tokenizer.json").read_bytes())
    other = PreTrainedTokenizerFast(tokenizer_file=str(tmp_path / "other.json"))
    assert other.all_special_tokens != small_tokenizer.all_special_tokens
    assert shared_tokens(other, small_tokenizer, SIZE, SIZE) == SIZE


@given(teacher=st.integers(0, 400_000), student=st.integers(0, 400_000))
def test_padding_rows_of_either_head_are_left_out(
    small_tokenizer: Any, teacher: int, student: int
) -> None:
    rows = SIZE + teacher, SIZE + student
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("surefit.models.vocabulary.PROBES", ())
        patch.setattr("surefit.models.vocabulary.SAMPLED", 1)
        assert shared_tokens(small_tokenizer, small_tokenizer, *rows) == SIZE


def test_what_stands_around_a_text_is_not_compared(small_tokenizer: Any) -> None:
    from tokenizers import processors

    beginning = deepcopy(small_tokenizer)
    beginning.backend_tokenizer.post_processor = processors.TemplateProcessing(
        single="<eos> $A", pair="<eos> $A $B", special_tokens=[("<eos>", 1)]
    )
    assert beginning("a")["input_ids"] != small_tokenizer("a")["input_ids"]
    assert shared_tokens(beginning, small_tokenizer, SIZE, SIZE) == SIZE


# What is not


def test_one_token_too_many(small_tokenizer: Any) -> None:
    larger = deepcopy(small_tokenizer)
    larger.add_tokens(["<think>", "</think>"])
    (found,) = refused(larger, small_tokenizer, 2048, 2048)
    assert found.code == "SF141"
    assert "2 ids do not mean the same token in both, the first of them 1536" in found.headline
    assert facts(found)["id 1536"] == "`<think>` and no token"
    assert facts(found)["sizes"] == "1,538 tokens of the teacher, 1,536 of the student"
    (turned,) = refused(small_tokenizer, larger, 2048, 2048)
    assert facts(turned)["id 1536"] == "no token and `<think>`"


def test_the_same_number_of_tokens_in_another_order(small_tokenizer: Any, tmp_path: Path) -> None:
    from transformers import PreTrainedTokenizerFast

    written = json.loads((MODEL / "tokenizer.json").read_text(encoding="utf-8"))
    of = written["model"]["vocab"]
    names = {token_id: token for token, token_id in of.items()}
    of[names[700]], of[names[900]] = 900, 700
    (tmp_path / "tokenizer.json").write_text(json.dumps(written), encoding="utf-8")
    swapped = PreTrainedTokenizerFast(tokenizer_file=str(tmp_path / "tokenizer.json"))
    (found,) = refused(swapped, small_tokenizer, SIZE, SIZE)
    assert found.code == "SF141"
    assert "2 ids do not mean the same token in both, the first of them 700" in found.headline
    assert facts(found)["id 700"] == f"`{names[900]}` and `{names[700]}`"


def test_other_merges_behind_equal_maps(small_tokenizer: Any, tmp_path: Path) -> None:
    turned = with_merges_turned(tmp_path)
    assert turned.get_vocab() == small_tokenizer.get_vocab()
    (found,) = refused(turned, small_tokenizer, SIZE, SIZE)
    assert found.code == "SF142"
    assert "split the same text differently" in found.headline
    said = facts(found)
    assert said["teacher"] != said["student"]
    assert tokenizer_fingerprint(turned) != tokenizer_fingerprint(small_tokenizer)


def test_another_normaliser_behind_equal_maps(small_tokenizer: Any) -> None:
    lower = with_lower_case(small_tokenizer)
    (found,) = refused(small_tokenizer, lower, SIZE, SIZE)
    assert found.code == "SF142"
    said = facts(found)
    assert said["text"].startswith("'Hello HELLO hello")
    assert "H" in said["teacher"]
    assert "h" in said["student"]


def test_a_single_merge_that_only_its_own_token_shows(small_tokenizer: Any, tmp_path: Path) -> None:
    from transformers import PreTrainedTokenizerFast

    written = json.loads((MODEL / "tokenizer.json").read_text(encoding="utf-8"))
    written["model"]["merges"].pop()  # the rarest: its token can no longer be made
    (tmp_path / "tokenizer.json").write_text(json.dumps(written), encoding="utf-8")
    without = PreTrainedTokenizerFast(tokenizer_file=str(tmp_path / "tokenizer.json"))
    assert without.get_vocab() == small_tokenizer.get_vocab()
    (found,) = refused(small_tokenizer, without, SIZE, SIZE)
    assert found.code == "SF142"


def test_a_marker_that_one_of_them_does_not_know_as_one(
    small_tokenizer: Any, tmp_path: Path
) -> None:
    from transformers import PreTrainedTokenizerFast

    written = json.loads((MODEL / "tokenizer.json").read_text(encoding="utf-8"))
    written["added_tokens"] = [one for one in written["added_tokens"] if one["content"] != "<pad>"]
    (tmp_path / "tokenizer.json").write_text(json.dumps(written), encoding="utf-8")
    plain = PreTrainedTokenizerFast(tokenizer_file=str(tmp_path / "tokenizer.json"))
    assert plain.get_vocab() == small_tokenizer.get_vocab()
    (found,) = refused(plain, small_tokenizer, SIZE, SIZE)
    assert found.code == "SF142"
    assert "<pad>" in facts(found)["student"]


def test_heads_with_fewer_rows_than_ids(small_tokenizer: Any) -> None:
    teacher, student = refused(small_tokenizer, small_tokenizer, SIZE - 1, SIZE - 36)
    assert (teacher.code, student.code) == ("SF143", "SF143")
    assert "head of the teacher has 1,535 rows" in teacher.headline
    assert "ids up to 1,535" in teacher.headline
    assert facts(student)["ids without a row"] == "36"
    last = small_tokenizer.convert_ids_to_tokens(SIZE - 36)
    assert facts(student)["the first of them"] == f"`{last}`"
