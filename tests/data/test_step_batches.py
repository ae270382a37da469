"""Whatever the processes, a step's rows reach the loss once, and all of them."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from surefit.data.order import epoch_batches
from surefit.data.step_batches import StepBatches
from surefit.data.tokens import IGNORED, Tokens, TokenSet
from surefit.losses.next_token import supervised_places

lengths_of = st.lists(st.integers(2, 40), min_size=1, max_size=40)


def some_set(lengths: list[int]) -> TokenSet:
    """Each row has ids of its own, so that it is known again; its second half is supervised."""
    tokens = []
    for number, length in enumerate(lengths):
        ids = [1000 * (number + 1) + at for at in range(length)]
        half = length // 2
        tokens.append(Tokens(ids, [IGNORED] * half + ids[half:], half, number))
    return TokenSet.of((), tokens)


@given(
    lengths=lengths_of,
    world=st.integers(1, 4),
    packed=st.booleans(),
    batches=st.integers(1, 3),
    size=st.integers(1, 5),
)
def test_every_supervised_place_reaches_the_loss_once(
    lengths: list[int], world: int, packed: bool, batches: int, size: int
) -> None:
    rows = some_set(lengths)
    order = epoch_batches(lengths, size * world, 0, 0)
    for at in range(0, len(order), batches):
        step = order[at : at + batches]
        shares = [
            StepBatches(
                rows, lengths, 0, size, size * world * batches, 64 if packed else None, rank, world
            ).of(step)
            for rank in range(world)
        ]
        assert len({len(share) for share in shares}) == 1
        made = [batch for share in shares for batch in share]
        seen = Counter(
            label
            for batch in made
            for label in batch["labels"].flatten().tolist()
            if label != IGNORED
        )
        wanted = Counter(
            label
            for batch in step
            for row in batch
            for label in rows.tokens[row].labels
            if label != IGNORED
        )
        assert seen == wanted
        one = StepBatches(rows, lengths, 0, size, size)
        assert sum(supervised_places(batch["labels"]) for batch in made) == one.places(step)


@given(lengths=lengths_of, packed=st.booleans(), size=st.integers(1, 5))
def test_no_batch_of_a_step_is_larger_than_the_longest(
    lengths: list[int], packed: bool, size: int
) -> None:
    batches = StepBatches(some_set(lengths), lengths, 0, size, size, 64 if packed else None)
    longest = batches.longest()["input_ids"].numel()
    for batch in epoch_batches(lengths, size, 0, 0):
        for made in batches.of([batch]):
            assert made["input_ids"].numel() <= max(longest, 64 if packed else 0)


def test_a_process_without_rows_takes_part_and_teaches_nothing() -> None:
    rows = some_set([4, 6])
    second = StepBatches(rows, [4, 6], 0, 4, 4, None, 1, 2)
    (batch,) = second.of([[1]])
    assert batch["input_ids"].tolist() == [rows.tokens[1].ids]
    assert set(batch["labels"].flatten().tolist()) == {IGNORED}
