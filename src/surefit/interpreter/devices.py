"""Dtypes and devices by their names."""

from surefit.interpreter.value_queries import Arguments, is_none, text_in
from surefit.interpreter.values import (
    CPU,
    UNKNOWN,
    AbstractValue,
    Constant,
    DeviceValue,
    ImportedName,
    TensorValue,
    Unknown,
)
from surefit.laws.operations.dtypes import CAST_BY

FLOATS = ("float16", "bfloat16", "float32", "float64")
INTEGRAL = ("int64", "int32", "bool", "uint8", "int16", "int8")


def dtype_named(value: AbstractValue) -> str | None:
    if not isinstance(value, ImportedName) or not value.name.startswith("torch."):
        return None
    name = value.name.removeprefix("torch.")
    name = CAST_BY.get(name, name)
    return name if name in (*FLOATS, *INTEGRAL) else None


def device_named(text: str) -> DeviceValue:
    return CPU if text == "cpu" else DeviceValue(text)


def device_from(value: AbstractValue | None, default: DeviceValue | None) -> DeviceValue | None:
    """What an argument `device=` means; None where that is not known."""
    if value is None or is_none(value):
        return default
    text = text_in(value)
    if text is not None:
        return device_named(text)
    return value if isinstance(value, DeviceValue) else None


def chosen_device(first: AbstractValue, second: AbstractValue) -> DeviceValue | None:
    """`"cuda" if torch.cuda.is_available() else "cpu"`: another device on machines that have it."""
    names = [text for text in (text_in(first), text_in(second)) if text is not None]
    accelerators = [name for name in names if name.split(":")[0] in ("cuda", "mps", "xpu")]
    if len(names) == 2 and accelerators:
        return DeviceValue(accelerators[0])
    devices = [value for value in (first, second) if isinstance(value, DeviceValue)]
    return next((device for device in devices if device != CPU), None) if devices[1:] else None


def move_target(arguments: Arguments) -> tuple[DeviceValue | Unknown | None, str | None]:
    """Device and dtype of `.to(...)`: None is "as it was", UNKNOWN and "" are not known."""
    device: DeviceValue | Unknown | None = None
    dtype: str | None = None
    positional: list[tuple[str, AbstractValue]] = [("", value) for value in arguments.positional]
    for name, value in [*positional, *arguments.named.items()]:
        match value:
            case _ if name in ("non_blocking", "copy", "memory_format"):
                continue
            case ImportedName(name=full) if full.startswith("torch."):
                dtype = dtype_named(value) or dtype
            case DeviceValue():
                device = value
            case Constant(value=str(text)):
                device = device_named(text)
            case Constant(value=bool()):
                continue
            case Constant(value=int(number)):
                device = DeviceValue(str(number))
            case _ if name == "dtype":
                dtype = ""
            case _ if name == "device":
                device = UNKNOWN
            case TensorValue():
                device, dtype = value.device or UNKNOWN, value.dtype or ""
            case _:
                device, dtype = UNKNOWN, ""
    return device, dtype
