"""What is installed here and what works here; what can be tried is tried."""

import os
import platform
import sys
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from logging import ERROR, getLogger
from pathlib import Path
from types import ModuleType
from typing import Any

PACKAGES = (
    "surefit",
    "torch",
    "transformers",
    "peft",
    "accelerate",
    "datasets",
    "tokenizers",
    "safetensors",
    "numpy",
    "pyarrow",
    "rensa",
    "gguf",
    "bitsandbytes",
    "flash-attn",
    "triton",
    "cyclopts",
    "msgspec",
    "rich",
)
GIB = 1024**3


@dataclass(frozen=True, slots=True)
class Entry:
    """One thing that was asked, and the answer."""

    name: str
    value: str


@dataclass(frozen=True, slots=True)
class Section:
    """Entries that belong together."""

    name: str
    entries: tuple[Entry, ...]


def look() -> Iterator[Section]:
    """Section by section, as each is ready; a few seconds in all."""
    yield Section("versions", tuple(versions()))
    yield Section("machine", tuple(machine()))
    torch = imported_torch()
    if isinstance(torch, str):
        yield Section("devices", (Entry("torch", torch),))
        return
    yield Section("devices", tuple(devices(torch)))
    names = usable_devices(torch)
    yield Section("precisions", tuple(precisions(torch, names)))
    yield Section("attention", tuple(attention(torch, names)))
    yield Section("4 bits", tuple(four_bits(torch, names)))
    yield Section("distribution", tuple(distribution(torch)))


def versions() -> Iterator[Entry]:
    yield Entry("python", platform.python_version())
    for package in PACKAGES:
        yield Entry(package, version_of(package))


def version_of(package: str) -> str:
    if package == "surefit":
        from surefit import __version__

        return __version__
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"


def machine() -> Iterator[Entry]:
    yield Entry("system", f"{platform.system()} {platform.release()}")
    yield Entry("processor", processor())
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    yield Entry("cores", f"{usable} to use of {os.cpu_count()}")
    yield Entry("memory", memory())


def processor() -> str:
    told = Path("/proc/cpuinfo")
    if told.exists():
        for line in told.read_text(errors="replace").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def memory() -> str:
    """The machine's, and a container's limit where there is one."""
    try:
        whole = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return "unknown"
    limit = Path("/sys/fs/cgroup/memory.max")
    bytes_ = limit.read_text().strip() if limit.exists() else "max"
    limited = f", limited to {int(bytes_) / GIB:.1f} GiB" if bytes_.isdigit() else ""
    return f"{whole / GIB:.1f} GiB{limited}"


def imported_torch() -> ModuleType | str:
    """torch, or why it is not there."""
    if version_of("torch") == "not installed" and "torch" not in sys.modules:
        return "not installed"
    try:
        import torch
    except Exception as error:  # noqa: BLE001 - a broken install fails in many ways
        return refused(error)
    return torch


def devices(torch: Any) -> Iterator[Entry]:
    yield Entry("cpu", f"{tried(partial(count, torch, 'cpu'))}, {torch.get_num_threads()} threads")
    if torch.version.cuda is None and torch.version.hip is None:
        yield Entry("cuda", "no: this torch was built without CUDA")
    elif not torch.cuda.is_available():
        yield Entry("cuda", "no: no GPU is seen")
    for index in range(torch.cuda.device_count()):
        about = torch.cuda.get_device_properties(index)
        works = tried(partial(count, torch, f"cuda:{index}"))
        size = f"{about.total_memory / GIB:.1f} GiB"
        yield Entry(f"cuda:{index}", f"{works}, {about.name}, {size}")
    if torch.backends.mps.is_available():
        yield Entry("mps", tried(partial(count, torch, "mps")))


def usable_devices(torch: Any) -> list[str]:
    found = ["cpu"]
    if torch.cuda.is_available():
        found.append("cuda:0")
    if torch.backends.mps.is_available():
        found.append("mps")
    return found


def count(torch: Any, device: str) -> None:
    total = torch.ones(8, device=device).sum().item()
    if total != 8:
        raise ArithmeticError(f"8 ones add up to {total}")


def precisions(torch: Any, names: list[str]) -> Iterator[Entry]:
    kinds = {"fp32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}
    for device in names:
        for name, kind in kinds.items():
            yield Entry(f"{name} on {device}", tried(partial(multiply, torch, device, kind)))
        for name in ("bf16", "fp16"):
            works = tried(partial(autocast, torch, device, kinds[name]))
            yield Entry(f"autocast to {name} on {device}", works)


def multiply(torch: Any, device: str, kind: Any) -> None:
    """Forward and backward; the gradient of a sum of 4 × 4 ones is 4 everywhere."""
    left = torch.ones(4, 4, device=device, dtype=kind, requires_grad=True)
    (left @ torch.ones(4, 4, device=device, dtype=kind)).sum().backward()
    if not bool((left.grad == 4).all()):
        raise ArithmeticError("the gradient is wrong")


def autocast(torch: Any, device: str, kind: Any) -> None:
    left = torch.ones(4, 4, device=device, requires_grad=True)
    with torch.autocast(device.partition(":")[0], dtype=kind):
        product = left @ torch.ones(4, 4, device=device)
    if product.dtype != kind:
        raise TypeError(f"the product is {product.dtype}")
    product.float().sum().backward()
    if not bool((left.grad == 4).all()):
        raise ArithmeticError("the gradient is wrong")


def attention(torch: Any, names: list[str]) -> Iterator[Entry]:
    kinds = {"eager": eager, "sdpa": sdpa, "sdpa, flash kernel": sdpa_flash}
    for device in names:
        for name, attend in kinds.items():
            yield Entry(f"{name} on {device}", tried(partial(attend, torch, device)))
    yield Entry("flash_attn", flash_package(torch))


def queries(torch: Any, device: str) -> Any:
    """One head, four places, eight features; half precision where flash needs it."""
    kind = torch.float32 if device in ("cpu", "mps") else torch.bfloat16
    return torch.ones(1, 1, 4, 8, device=device, dtype=kind, requires_grad=True)


def eager(torch: Any, device: str) -> None:
    given = queries(torch, device)
    weights = (given @ given.transpose(-1, -2) / 8**0.5).softmax(-1)
    all_ones(torch, weights @ given)


def sdpa(torch: Any, device: str) -> None:
    given = queries(torch, device)
    all_ones(torch, torch.nn.functional.scaled_dot_product_attention(given, given, given))


def sdpa_flash(torch: Any, device: str) -> None:
    from torch.nn.attention import SDPBackend, sdpa_kernel

    with sdpa_kernel(SDPBackend.FLASH_ATTENTION):
        sdpa(torch, device)


def flash_package(torch: Any) -> str:
    if version_of("flash-attn") == "not installed":
        return "no: not installed"
    if not torch.cuda.is_available():
        return "no: it needs a GPU"
    return tried(partial(flash, torch))


def flash(torch: Any) -> None:
    given = queries(torch, "cuda:0").transpose(1, 2)
    all_ones(torch, import_module("flash_attn").flash_attn_func(given, given, given))


def all_ones(torch: Any, attended: Any) -> None:
    """Attention over equal values gives those values, whatever its weights."""
    attended.float().sum().backward()
    if not torch.allclose(attended.float(), torch.ones_like(attended.float()), atol=1e-2):
        raise ArithmeticError("attention over ones is not one")


def four_bits(torch: Any, names: list[str]) -> Iterator[Entry]:
    for device in names:
        yield Entry(f"bitsandbytes on {device}", four_bit(torch, device))


def four_bit(torch: Any, device: str) -> str:
    """Whether weights can be held in 4 bits there and gradients go through them."""
    if version_of("bitsandbytes") == "not installed":
        return "no: not installed"
    return tried(partial(train_through_four_bits, torch, device))


def train_through_four_bits(torch: Any, device: str) -> None:
    """A frozen layer answers, then is trained through: its gradient is that of the same numbers."""
    # It says at import that a faster kernel is absent; nobody here asked for one.
    getLogger("bitsandbytes").setLevel(ERROR)
    bitsandbytes = import_module("bitsandbytes")
    layer = bitsandbytes.nn.Linear4bit(64, 32, bias=False, quant_type="nf4")
    layer.support_avx512bf16_for_cpu = False  # as `models/quantised.py` has it, and why
    layer = layer.to(device).requires_grad_(False).eval()
    held = bitsandbytes.functional.dequantize_4bit(layer.weight.data, layer.weight.quant_state)
    given = torch.ones(2, 64, device=device, requires_grad=True)
    with torch.no_grad():
        layer(given)
    layer.train()(given).float().sum().backward()
    if not torch.allclose(given.grad[0], held.float().sum(0).reshape(-1), rtol=1e-3, atol=1e-4):
        raise ArithmeticError("the gradient is wrong")


def distribution(torch: Any) -> Iterator[Entry]:
    if not torch.distributed.is_available():
        yield Entry("torch.distributed", "no: this torch was built without it")
        return
    yield Entry("gloo", tried(partial(reduce_alone, torch, "gloo", "cpu")))
    if not torch.distributed.is_nccl_available():
        yield Entry("nccl", "no: this torch was built without it")
    elif not torch.cuda.is_available():
        yield Entry("nccl", "no: it needs a GPU")
    else:
        yield Entry("nccl", tried(partial(reduce_alone, torch, "nccl", "cuda:0")))


def reduce_alone(torch: Any, backend: str, device: str) -> None:
    """A group of one process adds up its own number."""
    distributed = torch.distributed
    distributed.init_process_group(backend, store=distributed.HashStore(), rank=0, world_size=1)
    try:
        number = torch.ones(1, device=device)
        distributed.all_reduce(number)
        if number.item() != 1:
            raise ArithmeticError(f"1 was reduced to {number.item()}")
    finally:
        distributed.destroy_process_group()


def tried(computation: Callable[[], None]) -> str:
    """`works`, or `no` and the reason."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            computation()
    except Exception as error:  # noqa: BLE001 - that it fails, in whatever way, is the answer
        return refused(error)
    return "works"


def refused(error: Exception) -> str:
    """The first line of what the error says."""
    said = str(error).strip().splitlines()
    return f"no: {said[0] if said else type(error).__name__}"
