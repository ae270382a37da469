"""The likeliest tokens of a teacher, to be kept, from its hidden states, a chunk at a time."""

import torch

from .chunks import ChunkLogits, few_rows, parts
from .places import CHUNK
from .teacher import Head, TopK


@torch.no_grad()
def top_k_of(
    hidden: torch.Tensor,
    head: Head | None,
    targets: torch.Tensor,
    k: int,
    temperature: float,
    chunk: int = CHUNK,
) -> TopK:
    """From `[places, hidden]`; the likeliest first, ids in int32, all else at least in fp32."""
    hidden = hidden if head is None else hidden.to(head.weight.dtype)
    logits = ChunkLogits(hidden, head, chunk, 1.0)
    places = len(hidden)
    values = logits.room.new_empty(places, k)
    found = TopK(
        torch.empty_like(values, dtype=torch.int32),
        values,
        values.new_empty(places),
        values.new_empty(places),
    )
    assert found.target_log_probability is not None
    for part in parts(places, chunk):
        of_chunk = logits.of(part)
        for rows in few_rows(of_chunk):
            here = slice(part.start + rows.start, part.start + rows.stop)
            log_p = of_chunk[rows].log_softmax(1)
            found.log_probabilities[here], found.ids[here] = log_p.topk(k, dim=1)
            found.target_log_probability[here] = log_p.gather(1, targets[here, None]).squeeze(1)
            found.log_normaliser[here] = log_p.div_(temperature).logsumexp(1)
    return found
