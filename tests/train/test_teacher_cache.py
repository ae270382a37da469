"""What a teacher said comes back from its cache for any rows, or a finding says why it does not."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, cast

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from surefit.data.batches import PadRows
from surefit.data.tokens import IGNORED, Tokens, TokenSet
from surefit.doctor.findings import Finding
from surefit.errors import BadInput
from surefit.losses.places import Places, find_places
from surefit.losses.teacher import FromHidden, Head, TopK
from surefit.losses.top_k import top_k_of
from surefit.models.load import find_model
from surefit.train import teacher_cache_writer
from surefit.train.teacher import Teacher
from surefit.train.teacher_cache import (
    CacheIdentity,
    TeacherCache,
    is_teacher_cache,
    open_teacher_cache,
)
from surefit.train.teacher_cache_writer import Pass, packed, write_teacher_cache
from tiny_models import VOCABULARY, tiny

CPU = torch.device("cpu")
SAME = "0123456789abcdef"


@dataclass
class OfTheLastToken:
    """Says of a place what its token alone decides, whatever else is in the batch."""

    tokens: int
    reads: int = 0

    def head(self) -> Head:
        numbers = torch.Generator().manual_seed(0)
        return Head(4 * torch.randn(self.tokens, 3, generator=numbers))

    def read(self, batch: dict[str, torch.Tensor], places: Places, tokens: int) -> FromHidden:
        self.reads += 1
        token = places.of(batch["input_ids"])[:, None]
        hidden = torch.cat([(token * factor).float().sin() for factor in (1, 7, 31)], 1)
        return FromHidden(hidden, Head(self.head().weight[:tokens]))


def rows_of(lengths: Sequence[int], tokens: int, seed: int = 0) -> TokenSet:
    """The second half of each is supervised; of rows of a single token nothing is."""
    numbers = torch.Generator().manual_seed(seed)
    made = []
    for number, length in enumerate(lengths):
        ids = torch.randint(0, tokens, (length,), generator=numbers).tolist()
        half = length // 2
        made.append(Tokens(ids, [IGNORED] * half + ids[half:], half, number))
    return TokenSet.of((), made)


def identity_of(parts: dict[str, TokenSet], **changes: Any) -> CacheIdentity:
    rows = {name: part.fingerprint() for name, part in parts.items()}
    made = CacheIdentity("Big/Teacher", SAME, "tokenizer", rows, VOCABULARY, 8, 1.0)
    return replace(made, **changes)


def written(
    folder: Path, parts: dict[str, TokenSet], identity: CacheIdentity, batch_size: int = 2
) -> OfTheLastToken:
    teacher = OfTheLastToken(identity.tokens)
    going = Pass(cast("Teacher", teacher), identity, 0, batch_size, CPU)
    write_teacher_cache(folder, parts, going)
    return teacher


def said_of(rows: TokenSet, chosen: Sequence[int], identity: CacheIdentity) -> TopK:
    """Without a cache, in a padded batch."""
    batch = PadRows(pad_id=0)(rows.features(chosen))
    places = find_places(batch["labels"])
    said = OfTheLastToken(identity.tokens).read(batch, places, identity.tokens)
    return top_k_of(said.hidden, said.head, places.targets, identity.k, identity.temperature)


def assert_same(kept: TopK, said: TopK, temperature: float) -> None:
    assert torch.equal(kept.ids, said.ids)
    assert torch.equal(kept.log_probabilities, said.log_probabilities.half())
    assert kept.target_log_probability is not None
    assert said.target_log_probability is not None
    torch.testing.assert_close(kept.target_log_probability, said.target_log_probability)
    torch.testing.assert_close(mass(kept, temperature), mass(said, temperature))


def mass(said: TopK, temperature: float) -> torch.Tensor:
    log_p = said.log_probabilities.float() / temperature - said.log_normaliser[:, None]
    return log_p.exp().sum(1)


@given(
    lengths=st.lists(st.integers(1, 9), min_size=1, max_size=12),
    held_out=st.lists(st.integers(1, 9), max_size=3),
    batch_size=st.integers(1, 4),
    file_bytes=st.integers(1, 1500),
    temperature=st.sampled_from([0.5, 1.0, 2.0]),
    k=st.integers(1, 8),
    data=st.data(),
)
def test_rows_of_any_order_are_those_that_were_written(
    lengths: list[int],
    held_out: list[int],
    batch_size: int,
    file_bytes: int,
    temperature: float,
    k: int,
    data: st.DataObject,
) -> None:
    parts = {"train": rows_of(lengths, 160), "held-out": rows_of(held_out, 160, seed=1)}
    identity = identity_of(parts, temperature=temperature, k=k)
    with TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(teacher_cache_writer, "FILE_BYTES", file_bytes)
        patch.setattr(teacher_cache_writer, "BATCHES_SORTED", 2)
        written(Path(folder) / "kept", parts, identity, batch_size)
        cache = open_teacher_cache(Path(folder) / "kept", identity)
        for part, rows in parts.items():
            if not len(rows):
                continue
            any_rows = st.lists(st.integers(0, len(rows) - 1), min_size=1, max_size=9)
            chosen = data.draw(any_rows)
            assert_same(cache.of(part, chosen), said_of(rows, chosen, identity), temperature)


def test_a_vocabulary_beyond_two_bytes(tmp_path: Path) -> None:
    parts = {"train": rows_of([9, 8], 70_000)}
    identity = identity_of(parts, tokens=70_000)
    written(tmp_path / "kept", parts, identity)
    kept = open_teacher_cache(tmp_path / "kept", identity).of("train", [1, 0])
    assert int(kept.ids.max()) >= 1 << 16
    assert_same(kept, said_of(parts["train"], [1, 0], identity), 1.0)


def test_no_rows_and_rows_without_places(tmp_path: Path) -> None:
    parts = {"train": rows_of([1, 6, 1], VOCABULARY)}
    identity = identity_of(parts)
    written(tmp_path / "kept", parts, identity)
    cache = open_teacher_cache(tmp_path / "kept", identity)
    for chosen in ([], [0], [2, 0]):
        kept = cache.of("train", chosen)
        assert kept.ids.shape == kept.log_probabilities.shape == (0, 8)
        assert kept.log_normaliser.shape == (0,)
    assert cache.of("train", [0, 1, 2]).ids.shape == (3, 8)


def test_fewer_of_the_likeliest_can_be_asked_for_and_never_more(tmp_path: Path) -> None:
    parts = {"train": rows_of([6, 7], VOCABULARY)}
    written(tmp_path / "kept", parts, identity_of(parts))
    all_of_them = open_teacher_cache(tmp_path / "kept", identity_of(parts)).of("train", [1, 0])
    few = open_teacher_cache(tmp_path / "kept", identity_of(parts, k=3)).of("train", [1, 0])
    assert torch.equal(few.ids, all_of_them.ids[:, :3])
    assert torch.equal(few.log_probabilities, all_of_them.log_probabilities[:, :3])
    found = refused(tmp_path / "kept", identity_of(parts, k=9))
    assert found.facts[0].value == "8 in the cache, 9 now"


def test_what_a_real_teacher_says_is_kept(tmp_path: Path) -> None:
    parts = {"train": rows_of([12, 5, 9, 30, 7], 150), "held-out": rows_of([8, 11], 150, seed=1)}
    identity = identity_of(parts, tokens=150, k=16, temperature=2.0)
    done: list[int] = []
    teacher = Teacher(tiny("llama"))
    going = Pass(teacher, identity, 0, 2, CPU)
    write_teacher_cache(tmp_path / "kept", parts, going, done.append)
    assert teacher.forwards == 4  # of 5 rows and of 2, two at a time
    assert sum(done) == 7
    cache = open_teacher_cache(tmp_path / "kept", identity)
    for part, chosen in (("train", [3, 0, 4]), ("held-out", [1, 0])):
        batch = PadRows(pad_id=0)(parts[part].features(chosen))
        places = find_places(batch["labels"])
        said = teacher.read(batch, places, 150)
        exact = top_k_of(said.hidden, said.head, places.targets, 16, 2.0)
        kept = cache.of(part, chosen)
        torch.testing.assert_close(
            kept.log_probabilities.float(), exact.log_probabilities, rtol=1e-3, atol=1e-3
        )
        torch.testing.assert_close(mass(kept, 2.0), mass(exact, 2.0), rtol=1e-4, atol=1e-5)
        assert kept.target_log_probability is not None
        assert exact.target_log_probability is not None
        torch.testing.assert_close(
            kept.target_log_probability, exact.target_log_probability, rtol=1e-4, atol=1e-4
        )
    assert teacher.forwards == 6, "the cache asked it nothing"


@pytest.mark.parametrize("temperature", [0.5, 1.0, 3.0])
def test_rounding_leaves_the_tail_as_large_as_it_was(temperature: float) -> None:
    torch.manual_seed(0)
    logits = 3 * torch.randn(200, 5000)
    targets = torch.randint(0, 5000, (200,))
    exact = top_k_of(logits, None, targets, 64, temperature)
    kept = packed(exact, temperature, 5000)
    plain = replace(exact, log_probabilities=kept["log_probabilities"])
    repaired = replace(plain, log_normaliser=kept["log_normaliser"])
    lost = (mass(plain, temperature) - mass(exact, temperature)).abs().max()
    left = (mass(repaired, temperature) - mass(exact, temperature)).abs().max()
    assert lost > 1e-5
    assert left < lost / 10


def test_tokens_that_are_ruled_out_stay_finite() -> None:
    logits = torch.full((2, 40), -1e9)
    logits[:, :3] = 0.0
    exact = top_k_of(logits, None, torch.tensor([0, 5]), 8, 1.0)
    kept = packed(exact, 1.0, 40)
    assert all(bool(kept[name].isfinite().all()) for name in kept if "log" in name)


# What is not of this run


def refused(folder: Path, wanted: CacheIdentity) -> Finding:
    with pytest.raises(BadInput) as caught:
        open_teacher_cache(folder, wanted)
    (found,) = caught.value.findings
    return found


@pytest.mark.parametrize(
    ("changes", "name", "value"),
    [
        ({"temperature": 2.5}, "temperature", "1 in the cache, 2.5 now"),
        ({"tokenizer": "other"}, "tokenizer", "tokenizer in the cache, other now"),
        ({"tokens": 151}, "tokens", "160 in the cache, 151 now"),
        ({"weights": "other"}, "the teacher's weights", f"{SAME} in the cache, other now"),
        (
            {"teacher": "Other/Teacher", "weights": None},
            "teacher",
            "Big/Teacher in the cache, Other/Teacher now",
        ),
    ],
)
def test_what_differs_is_said_with_both_values(
    changes: dict[str, Any], name: str, value: str, tmp_path: Path
) -> None:
    parts = {"train": rows_of([6, 7], VOCABULARY)}
    written(tmp_path / "kept", parts, identity_of(parts))
    found = refused(tmp_path / "kept", identity_of(parts, **changes))
    assert found.code == "SF145"
    assert f"different `{name}`" in found.headline
    assert [(fact.name, fact.value) for fact in found.facts] == [(name, value)]
    assert "--cache-teacher FOLDER" in found.fixes[1].text


def test_other_rows(tmp_path: Path) -> None:
    parts = {"train": rows_of([6, 7], VOCABULARY), "held-out": rows_of([5], VOCABULARY)}
    written(tmp_path / "kept", parts, identity_of(parts))
    other = parts | {"held-out": rows_of([5], VOCABULARY, seed=3)}
    found = refused(tmp_path / "kept", identity_of(other))
    assert [fact.name for fact in found.facts] == ["held-out rows"]
    fewer = refused(tmp_path / "kept", identity_of({"train": parts["train"]}))
    assert fewer.facts[0].value.endswith("in the cache, none now")


def test_the_same_weights_under_another_name(tmp_path: Path) -> None:
    parts = {"train": rows_of([6, 7], VOCABULARY)}
    written(tmp_path / "kept", parts, identity_of(parts))
    moved = identity_of(parts, teacher="/elsewhere/teacher")
    assert isinstance(open_teacher_cache(tmp_path / "kept", moved), TeacherCache)
    unseen = identity_of(parts, weights=None)
    assert isinstance(open_teacher_cache(tmp_path / "kept", unseen), TeacherCache)


def test_an_identity_is_made_without_loading_the_teacher(
    small_tokenizer: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from transformers import AutoModelForCausalLM

    def never(*_given: object, **_named: object) -> None:
        raise AssertionError("it was loaded")

    monkeypatch.setattr(AutoModelForCausalLM, "from_pretrained", never)
    parts = {"train": rows_of([6], 1536)}
    made = CacheIdentity.of(find_model("embedded"), small_tokenizer, parts, 1536, 4000, 1)
    assert made.weights is not None
    assert made.k == 1536
    assert made.rows == {"train": parts["train"].fingerprint()}


# What is not whole


def test_a_pass_that_ends_half_way_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    parts = {"train": rows_of([6, 7, 8, 9], VOCABULARY)}
    monkeypatch.setattr(teacher_cache_writer, "BATCHES_SORTED", 1)
    monkeypatch.setattr(teacher_cache_writer, "FILE_BYTES", 1)
    saved = []
    for stop in (RuntimeError, KeyboardInterrupt):
        going = Pass(cast("Teacher", OfTheLastToken(VOCABULARY)), identity_of(parts), 0, 1, CPU)

        def each(_count: int, stop: type[BaseException] = stop) -> None:
            side = tmp_path / ".kept.part"
            saved.append(len(list(side.iterdir())))
            if saved[-1] == 2:
                raise stop

        with pytest.raises(stop):
            write_teacher_cache(tmp_path / "kept", parts, going, each)
        assert list(tmp_path.iterdir()) == []
    assert saved.count(2) == 2, "files were there already"
    assert not is_teacher_cache(tmp_path / "kept")


def test_what_a_killed_run_left_is_no_cache_and_in_nobodys_way(tmp_path: Path) -> None:
    parts = {"train": rows_of([6, 7], VOCABULARY)}
    left = tmp_path / ".kept.part"
    left.mkdir()
    (left / "train-00000.safetensors").write_bytes(b"half")
    assert not is_teacher_cache(tmp_path / "kept")
    written(tmp_path / "kept", parts, identity_of(parts))
    assert is_teacher_cache(tmp_path / "kept")
    assert [file.name for file in tmp_path.iterdir()] == ["kept"]


def test_a_folder_with_other_files_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("years of work")
    parts = {"train": rows_of([6, 7], VOCABULARY)}
    with pytest.raises(BadInput) as caught:
        written(tmp_path, parts, identity_of(parts))
    assert caught.value.findings[0].code == "SF147"
    assert caught.value.findings[0].facts[0].value == "thesis.txt"
    assert (tmp_path / "thesis.txt").read_text() == "years of work"
    (tmp_path / "empty").mkdir()
    written(tmp_path / "empty", parts, identity_of(parts))


def test_a_file_that_was_cut_or_removed(tmp_path: Path) -> None:
    parts = {"train": rows_of([6, 7], VOCABULARY)}
    folder = tmp_path / "kept"
    written(folder, parts, identity_of(parts))
    file = folder / "train-00000.safetensors"
    whole = file.read_bytes()
    file.write_bytes(whole[:-1])
    found = refused(folder, identity_of(parts))
    assert found.code == "SF146"
    assert f"{len(whole) - 1:,} bytes, {len(whole):,} were written" in found.headline
    file.write_bytes(b"\xff" * len(whole))
    with pytest.raises(BadInput) as caught:
        open_teacher_cache(folder, identity_of(parts)).of("train", [0])
    assert caught.value.findings[0].code == "SF146"
    file.unlink()
    assert "no file" in refused(folder, identity_of(parts)).headline


@pytest.mark.parametrize("content", ["", "[]", '{"format": 1}', "format 2"])
def test_a_description_that_cannot_be_read(content: str, tmp_path: Path) -> None:
    parts = {"train": rows_of([6, 7], VOCABULARY)}
    written(tmp_path / "kept", parts, identity_of(parts))
    file = tmp_path / "kept" / "cache.json"
    if content == "format 2":
        content = json.dumps(json.loads(file.read_text()) | {"format": 2})
    file.write_text(content)
    found = refused(tmp_path / "kept", identity_of(parts))
    assert found.code == "SF146"
    assert found.place.file.endswith("cache.json")
