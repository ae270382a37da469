"""What a weighted sampler gives to each class, by labels that the dataset holds."""

from collections.abc import Iterator
from typing import Any

from surefit.doctor.measures.row_use import ClassWeight
from surefit.observe.inside.autopsy.values import attributes, is_a, is_tensor
from surefit.observe.inside.training import readable

DATASETS = "torch.utils.data.dataset"
MOST_ROWS = 1_000_000
MOST_CLASSES = 64
SAME = 1e-6


def by_class(batch_sampler: Any, dataset: Any) -> dict[str, Any]:
    """As `LoaderUse` has it; to be called while looking."""
    sampler = attributes(batch_sampler).get("sampler", batch_sampler)
    weights = readable.plain(attributes(sampler).get("weights"))
    if weights is None or not weights.is_cpu or not 0 < weights.numel() <= MOST_ROWS:
        return {}
    for name, labels in _labels_of(dataset):
        if labels.numel() == weights.numel():
            found = _of_classes(weights.double(), labels)
            if found:
                return {"class_weights": found, "labels_held": name}
        elif int(labels.min()) == 0 and int(labels.max()) + 1 == weights.numel():
            return {"labels_held": name}
    return {}


def _labels_of(dataset: Any) -> Iterator[tuple[str, Any]]:
    """Integers, one for each row, by attribute; of a subset, those of its rows, without a name."""
    held = attributes(dataset)
    if is_a(dataset, DATASETS, "Subset"):
        numbers = _integers(held.get("indices"))
        for _, labels in _labels_of(held.get("dataset")) if numbers is not None else ():
            if int(numbers.max()) < labels.numel():
                yield "", labels[numbers]
        return
    for name, value in list(held.items()):
        members = enumerate(value) if type(value) is tuple else [(None, value)]
        for key, member in members:
            labels = _integers(member)
            if labels is not None and labels.numel() > 1:
                yield name if key is None else f"{name}[{key}]", labels


def _integers(value: Any) -> Any:
    """A tensor [rows] of int64; None for anything else."""
    torch = readable.torch()
    if is_a(value, "numpy", "ndarray") and value.dtype.kind in "iu" and value.ndim == 1:
        return torch.tensor(value.astype("int64")) if value.size <= MOST_ROWS else None
    if type(value) is list and 0 < len(value) <= MOST_ROWS and type(value[0]) is int:
        return torch.tensor(value) if all(type(label) is int for label in value) else None
    plain = readable.plain(value) if is_tensor(value) else None
    if plain is None or not plain.is_cpu or plain.dim() != 1 or plain.dtype.is_floating_point:
        return None
    return plain.long() if 0 < plain.numel() <= MOST_ROWS else None


def _of_classes(weights: Any, labels: Any) -> tuple[ClassWeight, ...]:
    """Nothing where the weight is not that of the class."""
    kinds, numbers, counts = labels.unique(return_inverse=True, return_counts=True)
    if not 2 <= kinds.numel() <= MOST_CLASSES:
        return ()
    means = weights.new_zeros(kinds.numel()).index_add_(0, numbers, weights) / counts
    apart = (weights - means[numbers]).abs().max()
    if bool(apart > SAME * means.abs().max()) or bool(means.max() - means.min() <= apart):
        return ()
    return tuple(
        ClassWeight(label=int(label), rows=int(rows), weight=float(weight))
        for label, rows, weight in zip(kinds.tolist(), counts.tolist(), means.tolist(), strict=True)
    )
