"""What a run that records lineage does otherwise, so that values can be followed through libraries.

Loaders and `datasets.map` work in this process, where their rows are recorded; results of `map` are
computed and not taken from a cache.
"""

import os
from functools import wraps
from types import ModuleType
from typing import Any

from surefit.observe.inside.after_import import after_import
from surefit.observe.inside.lineage import settings

WITH_WORKERS = "SUREFIT_LINEAGE_WORKERS"
"""Environment: loaders keep their workers, because the fault is about them."""
IN_PROCESS = {
    "num_workers": 0,
    "prefetch_factor": None,
    "persistent_workers": False,
    "timeout": 0,
    "multiprocessing_context": None,
}
POSITIONS = ("dataset", "batch_size", "shuffle", "sampler", "batch_sampler", "num_workers")


def install() -> None:
    os.environ.setdefault("HF_DATASETS_DISABLE_CACHING", "1")
    settings.install()
    after_import("datasets.arrow_dataset")(tables)
    after_import("datasets.fingerprint")(caches)
    if not os.environ.get(WITH_WORKERS):
        after_import("torch.utils.data.dataloader")(loaders)


def loaders(module: ModuleType) -> None:
    plain = module.DataLoader.__init__

    @wraps(plain)
    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:  # noqa: N807
        at = POSITIONS.index("num_workers")
        args = (*args[:at], 0, *args[at + 1 :]) if len(args) > at else args
        for name, value in IN_PROCESS.items():
            if name in kwargs:
                kwargs[name] = value
        plain(self, *args, **kwargs)

    module.DataLoader.__init__ = __init__


def tables(module: ModuleType) -> None:
    """`map` and `filter` with `num_proc` would run the user's functions in other processes."""
    for name in ("map", "filter"):
        function = vars(module.Dataset).get(name)
        if function is not None and callable(function):
            setattr(module.Dataset, name, in_this_process(function))


def in_this_process(plain: Any) -> Any:
    @wraps(plain)
    def inner(*args: Any, **kwargs: Any) -> Any:
        for name in ("num_proc", "load_from_cache_file"):
            if name in kwargs:
                kwargs[name] = None if name == "num_proc" else False
        return plain(*args, **kwargs)

    return inner


def caches(module: ModuleType) -> None:
    module.disable_caching()
