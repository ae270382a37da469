"""What is kept of a teacher is what all of its logits at once would say."""

import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st

from allocations import allocations
from surefit.losses.teacher import Head
from surefit.losses.top_k import top_k_of

PLACES, VOCABULARY = 23, 61


@settings(max_examples=30, deadline=None)
@given(
    st.integers(1, VOCABULARY),
    st.sampled_from([1.0, 2.0, 0.7]),
    st.integers(1, 30),
    st.booleans(),
)
def test_tokens_and_their_probabilities(
    k: int, temperature: float, chunk: int, with_head: bool
) -> None:
    random = torch.Generator().manual_seed(k)
    hidden = torch.randn(PLACES, 9, generator=random, dtype=torch.float64)
    weight = torch.randn(VOCABULARY, 9, generator=random, dtype=torch.float64)
    targets = torch.randint(0, VOCABULARY, (PLACES,), generator=random)
    logits = F.linear(hidden, weight)
    head = Head(weight.requires_grad_()) if with_head else None
    found = top_k_of(hidden if head else logits, head, targets, k, temperature, chunk)
    log_p = logits.log_softmax(1)
    torch.testing.assert_close(found.log_probabilities, log_p.topk(k, dim=1).values)
    torch.testing.assert_close(log_p.gather(1, found.ids.long()), found.log_probabilities)
    torch.testing.assert_close(found.log_normaliser, (log_p / temperature).logsumexp(1))
    at = found.target_log_probability
    torch.testing.assert_close(at, log_p.gather(1, targets[:, None]).squeeze(1))
    assert not found.log_probabilities.requires_grad


def test_never_more_logits_than_those_of_a_chunk() -> None:
    vocabulary, places, chunk = 2**14, 320, 32
    weight, targets = torch.randn(vocabulary, 4), torch.zeros(places, dtype=torch.long)
    with allocations() as allocated:
        top_k_of(torch.randn(places, 4), Head(weight), targets, 8, 2.0, chunk)
    assert allocated.largest == chunk * vocabulary * 4
    assert allocated.peak < places * vocabulary * 4 / 2
