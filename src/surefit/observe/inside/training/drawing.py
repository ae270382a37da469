"""What draws the rows of a loader, and random numbers that its dataset holds."""

import sys
from types import FrameType
from typing import Any

from surefit.doctor.findings import Place
from surefit.observe.inside import own_code
from surefit.observe.inside.autopsy.values import attributes, is_a, is_tensor

SAMPLERS = "torch.utils.data.sampler"
DEEPEST = 5
GENERATORS = (
    ("numpy.random", "Generator"),
    ("numpy.random", "RandomState"),
    ("random", "Random"),
    ("torch", "Generator"),
)


def own_stack(depth: int) -> tuple[Place, ...]:
    """The user's lines that are being run, innermost first."""
    frame: FrameType | None = sys._getframe(depth)
    found: list[Place] = []
    while frame is not None and len(found) < DEEPEST:
        if own_code.own(frame.f_code):
            found.append(own_code.place(frame))
        frame = frame.f_back
    return tuple(found)


def drawn_by(batch_sampler: Any) -> dict[str, Any]:
    """As `LoaderUse` has it."""
    held = attributes(batch_sampler)
    sampler = held.get("sampler", batch_sampler)
    inside = attributes(sampler)
    weights: Any
    weights, replicas = inside.get("weights"), inside.get("num_replicas")
    by_weight = is_a(sampler, SAMPLERS, "WeightedRandomSampler")
    size, samples = held.get("batch_size"), inside.get("num_samples")
    shuffle = inside.get("shuffle", True)
    shards = type(replicas) is int
    return {
        "batch_size": size if type(size) is int else None,
        "sampler": type(sampler).__name__,
        "own_sampler": any(own_code.own_class(type(part)) for part in (batch_sampler, sampler)),
        "shuffles": is_a(sampler, SAMPLERS, "RandomSampler")
        or "Random" in type(sampler).__name__
        or (shards and shuffle is True),
        "weights": int(weights.shape[0]) if by_weight and is_tensor(weights) else None,
        "samples": samples if by_weight and type(samples) is int else None,
        "replicas": replicas if shards else None,
    }


def generator_of(dataset: Any) -> str:
    """The attribute under which a dataset holds a generator that its `__getitem__` draws from:
    each worker gets a copy of it, and a new copy in every epoch."""
    item = getattr(type(dataset), "__getitem__", None)
    names = getattr(getattr(item, "__code__", None), "co_names", ())
    for name, value in list(attributes(dataset).items()):
        drawing = any(is_a(value, module, kind) for module, kind in GENERATORS)
        if drawing and name in names and not name.startswith("__"):
            return str(name)
    return ""
