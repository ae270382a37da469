"""Dtypes by their names."""

from surefit.interpreter.values import AbstractValue, ImportedName

FLOATS = ("float16", "bfloat16", "float32", "float64")
INTEGRAL = ("int64", "int32", "bool", "uint8", "int16", "int8")
DTYPE_ALIASES = {
    "float": "float32",
    "double": "float64",
    "half": "float16",
    "long": "int64",
    "int": "int32",
}
CASTS = {**DTYPE_ALIASES, "bfloat16": "bfloat16", "bool": "bool"}
"""Methods of tensors that cast."""


def dtype_named(value: AbstractValue) -> str | None:
    if not isinstance(value, ImportedName) or not value.name.startswith("torch."):
        return None
    name = value.name.removeprefix("torch.")
    name = DTYPE_ALIASES.get(name, name)
    return name if name in (*FLOATS, *INTEGRAL) else None
