"""Packing loses no row and no label, and keeps processes in step."""

from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from surefit.data.packing import PackRows, pack, packed_share
from surefit.data.tokens import IGNORED

lengths = st.lists(st.integers(1, 600), min_size=1, max_size=80)


@given(lengths=lengths, most=st.integers(8, 600))
def test_every_row_once_and_none_beyond_the_limit(lengths: list[int], most: int) -> None:
    packed = pack(range(len(lengths)), lengths, most)
    assert sorted(row for rows in packed for row in rows) == list(range(len(lengths)))
    for rows in packed:
        assert sum(lengths[row] for row in rows) <= most or len(rows) == 1


@given(lengths=st.lists(st.integers(1, 100), min_size=1, max_size=80))
def test_no_two_sequences_would_fit_into_one(lengths: list[int]) -> None:
    filled = [sum(lengths[row] for row in rows) for rows in pack(range(len(lengths)), lengths, 100)]
    assert all(one + other > 100 for one, other in pairwise(sorted(filled)))


@given(lengths=lengths, world=st.integers(1, 5), size=st.integers(1, 9))
def test_processes_share_a_step_without_overlap_or_loss(
    lengths: list[int], world: int, size: int
) -> None:
    step = [list(range(at, min(at + size, len(lengths)))) for at in range(0, len(lengths), size)]
    shares = [packed_share(step, lengths, rank, world, 512) for rank in range(world)]
    assert sorted(row for parts in shares for part in parts for row in part) == list(
        range(len(lengths))
    )
    assert len({len(parts) for parts in shares}) == 1
    assert any(all(parts) for parts in shares), "no sequence is empty on all processes"


@given(
    rows=st.lists(
        st.tuples(st.lists(st.integers(1, 9), min_size=1, max_size=9), st.integers(0, 9)),
        min_size=1,
        max_size=6,
    )
)
def test_rows_stand_end_to_end(rows: list[tuple[list[int], int]]) -> None:
    features = [
        {
            "input_ids": np.array(ids, np.int32),
            "labels": np.array([IGNORED] * at + ids[at:])[: len(ids)],
        }
        for ids, at in rows
    ]
    batch = PackRows()(features)
    tokens = [token for ids, _ in rows for token in ids]
    assert batch["input_ids"].tolist() == [tokens]
    assert batch["position_ids"].tolist() == [[at for ids, _ in rows for at in range(len(ids))]]
    assert "attention_mask" not in batch
    labels = batch["labels"][0].tolist()
    for place, (token, position, label) in enumerate(
        zip(tokens, batch["position_ids"][0].tolist(), labels, strict=True)
    ):
        assert label in (IGNORED, token), place
        assert position > 0 or label == IGNORED, "the first of a row has no prediction"
    wanted = sum(int((np.asarray(feature["labels"])[1:] != IGNORED).sum()) for feature in features)
    assert sum(label != IGNORED for label in labels) == wanted
