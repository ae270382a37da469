"""mosaicml-streaming without torchvision, which its import asks for and arrays do not need."""

import sys
from types import ModuleType
from typing import Any


def streaming() -> Any:
    import transformers  # noqa: F401 - looks for torchvision itself, and must not find this one

    if "torchvision" not in sys.modules:
        vision, datasets = ModuleType("torchvision"), ModuleType("torchvision.datasets")
        transforms, functional = (
            ModuleType(f"torchvision.{name}") for name in ("transforms", "transforms.functional")
        )
        for name in ("VisionDataset", "CIFAR10", "ImageFolder"):
            setattr(datasets, name, type(name, (), {}))
        functional.to_tensor = None  # type: ignore[attr-defined]
        vision.datasets, vision.transforms = datasets, transforms  # type: ignore[attr-defined]
        transforms.functional = functional  # type: ignore[attr-defined]
        for module in (vision, datasets, transforms, functional):
            sys.modules[module.__name__] = module
    import streaming

    return streaming
