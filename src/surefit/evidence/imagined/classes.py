"""Classes of a script that is run in thought."""

from typing import Any

from surefit.evidence.imagined.values import ABSENT, Class, External

MODULES = (
    "torch.nn.Module",
    "torch.nn.modules.module.Module",
    "torch.nn.modules.Module",
    "lightning.LightningModule",
    "lightning.pytorch.LightningModule",
    "pytorch_lightning.LightningModule",
    "transformers.PreTrainedModel",
)


def lineage(one: Class) -> list[Class]:
    """A class and those of the file that it is made from, nearest first."""
    found = [one]
    for base in one.bases:
        if isinstance(base, Class):
            found += [each for each in lineage(base) if each not in found]
    return found


def find_in_class(one: Class, name: str) -> Any:
    for each in lineage(one):
        if name in each.scope.names:
            return each.scope.names[name]
    return ABSENT


def is_module_class(one: Class) -> bool:
    return any(
        isinstance(base, External) and (base.name in MODULES or base.name.startswith("torch.nn."))
        for each in lineage(one)
        for base in each.bases
    )


def has_foreign_bases(one: Class) -> bool:
    """Attributes and methods can come from elsewhere."""
    known = (*MODULES, "object", "torch.utils.data.Dataset", "torch.utils.data.IterableDataset")
    return any(
        not isinstance(base, Class) and not (isinstance(base, External) and base.name in known)
        for each in lineage(one)
        for base in each.bases
    )
