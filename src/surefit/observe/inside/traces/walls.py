"""Walls around a sandbox that the kernel holds, also against compiled code and other programs.

Namespaces where a user may create them, and what these leave in reach (devices, pipes, keys) held
by Landlock and seccomp; else these two alone, more strictly. Where the kernel offers neither, a run
in a sandbox does not begin, unless the user trusts it.
"""

import os
import resource
import sys
from contextlib import suppress
from typing import Literal

from surefit.observe.inside import spool
from surefit.observe.inside.traces import landlock, namespaces, outside, relay, seccomp

TRUSTED = "SUREFIT_TRUST_TRIAL"
"""Environment: the user wants trials also where there are no walls."""
WRITTEN_CACHES = (
    "HF_DATASETS_CACHE",
    "HF_MODULES_CACHE",
    "TORCHINDUCTOR_CACHE_DIR",
    "TRITON_CACHE_DIR",
    "MPLCONFIGDIR",
    "NUMBA_CACHE_DIR",
)
"""Caches that libraries cannot do without; all others are read."""
DEVICES = ("full", "null", "random", "urandom", "zero")
ACCELERATORS = (
    *("accel", "apex", "davinci", "devmm_svm", "dma_heap", "dri", "dxg", "gdrdrv", "habanalabs"),
    *("hisi_hdc", "hl", "infiniband", "kfd", "knem", "mali", "neuron", "nvhost", "nvidia", "nvmap"),
    *("udmabuf", "vfio", "xpmem"),
)
"""How devices in `/dev` begin that programs compute on; all others (disks, terminals, the kernel's
log, shared memory) are the machine's."""
MOST_PROCESSES = 4096
LARGEST_FILE = 64 << 30

Layer = Literal["namespaces", "landlock", "trusted", "none"]


def build() -> Layer:
    """Returns in the process that goes on behind the walls, which is not the one that called where
    there are namespaces: that one waits, and ends as this one does."""
    before = os.environ.get(outside.WALLS)
    if before:
        return before  # type: ignore[return-value]
    layer = _build()
    os.environ[outside.WALLS] = layer
    limit(layer)
    return layer


def _build() -> Layer:
    own, private = outside.own_folders(), [*outside.temporary(), *outside.library_caches()]
    folder = spool.folder()
    assert folder is not None
    why_not = namespaces.enter([*own, str(folder)], [*private, "/dev/shm"])
    if not why_not:
        landlock.restrict([*own, str(folder), *private, "/dev/shm", "/proc/self"], devices())
        seccomp.restrict(alone=False)
        return "namespaces"
    os.environ[outside.NO_NAMESPACES] = why_not
    if sys.platform == "linux":
        relay.keep()
    free = [*own, str(folder), private_folder(own[0]), "/proc/self"]
    if landlock.restrict(free, devices()) and seccomp.restrict(alone=True):
        return "landlock"
    return "trusted" if os.environ.get(TRUSTED) else "none"


def devices() -> list[str]:
    names = os.listdir("/dev")
    wanted = (name for name in names if name in DEVICES or name.startswith(ACCELERATORS))
    return [os.path.join("/dev", name) for name in wanted]


def private_folder(copy: str) -> str:
    """For temporary files and for what libraries compile or convert, told by the environment."""
    folder = os.path.join(copy, "private")
    os.makedirs(folder, exist_ok=True)
    for name in (*outside.TEMPORARY, *WRITTEN_CACHES):
        os.environ[name] = folder
    return folder


def limit(layer: Layer) -> None:
    """What a run that got out of hand can take of the machine; memory and time are the parent's."""
    limits = {resource.RLIMIT_CORE: 0, resource.RLIMIT_FSIZE: LARGEST_FILE}
    if layer == "namespaces":  # elsewhere all processes of this user count
        limits[resource.RLIMIT_NPROC] = MOST_PROCESSES
    for kind, most in limits.items():
        _, hard = resource.getrlimit(kind)
        lower = most if hard == resource.RLIM_INFINITY else min(most, hard)
        with suppress(OSError, ValueError):
            resource.setrlimit(kind, (lower, lower))
