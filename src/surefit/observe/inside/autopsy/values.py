"""Values as plain data, without running any code of their own.

Attributes come from `__dict__` and from a short list that torch and NumPy define; no property, no
`__getattr__`, no `__repr__`, no `__len__` of a class that the user could have written.
"""

import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from itertools import islice
from typing import Any

from surefit.doctor.observations import Value
from surefit.observe.inside import origins

LOOKED_AT = 1_000_000
"""Elements of a tensor that are still looked at whole."""
MOST_MEMBERS = 40
MOST_LENGTHS = 4096
MOST_KINDS = 100_000
MOST_ODD = 8
LONGEST = 200


def is_a(value: object, module: str, name: str) -> bool:
    """Of a class of a library, by the class itself: `isinstance` would ask the value."""
    kind = vars(sys.modules[module]).get(name) if module in sys.modules else None
    return kind is not None and any(one is kind for one in type(value).__mro__)


def is_tensor(value: object) -> bool:
    return is_a(value, "torch", "Tensor")


def is_module(value: object) -> bool:
    return is_a(value, "torch.nn.modules.module", "Module")


@contextmanager
def untouched() -> Iterator[None]:
    """Inside, tensors are read without the user's `__torch_function__`, modes or graphs."""
    torch = sys.modules.get("torch")
    with ExitStack() as stack:
        if torch is not None:
            stack.enter_context(torch._C.DisableTorchFunction())
            stack.enter_context(torch.no_grad())
            modes = sys.modules.get("torch.utils._python_dispatch")
            if modes is not None:
                stack.enter_context(modes._disable_current_modes())
        yield


def describe(value: object, text: str, *, members: bool = True) -> Value:
    """A value under the name that the source gives it; what cannot be read is left out."""
    kind, identity = type(value).__name__, id(value)
    made_at = origins.made_at(value)
    if is_tensor(value):
        with untouched():
            return _tensor(value, text)
    if is_a(value, "numpy", "ndarray"):
        return _array(value, text)
    if is_module(value):
        from surefit.observe.inside.autopsy.layers import layer_of

        return Value(text, kind, identity, layer=layer_of(value), made_at=made_at)
    if value is None or type(value) in (bool, int, float):
        return Value(text, kind, identity, scalar=value)  # type: ignore[arg-type]
    if type(value) is str:
        return Value(text, kind, identity, scalar=value[:LONGEST], length=len(value))
    if type(value).__module__ == "numpy" and is_a(value, "numpy", "number"):
        return Value(text, kind, identity, scalar=_plain_number(value))
    if type(value) in (list, tuple) or kind == "Size":
        return _sequence(value, text, members)  # type: ignore[arg-type]
    if type(value).__module__.partition(".")[0] in ("pandas", "datasets"):
        from surefit.observe.inside.autopsy.tables import table

        known = table(value, text, members=members)
        if known is not None:
            return known
    inside = mapping(value)
    if inside is None:
        inside = _plain_attributes(value) if members else {}
    return Value(
        text,
        kind,
        identity,
        length=len(inside) if mapping(value) is not None else None,
        members=_members(inside) if members else {},
        made_at=made_at,
    )


def _plain_number(value: Any) -> int | float | None:
    """Of a single number of NumPy."""
    number = value.item()
    return number if type(number) in (int, float) else None


def mapping(value: object) -> dict[Any, Any] | None:
    """The dictionary behind a mapping, read past whatever its class overrides."""
    if dict in type(value).__mro__:
        return dict(dict.items(value))  # type: ignore[arg-type]
    inside = attributes(value).get("data")
    if is_a(value, "collections", "UserDict") and type(inside) is dict:
        return dict(inside)
    if type(value).__name__ in ("LazyRow", "LazyBatch") and type(inside) is dict:
        unread = attributes(value).get("keys_to_format", ())
        return {key: one for key, one in inside.items() if key not in unread}
    return None


def attributes(value: object) -> dict[str, Any]:
    try:
        found = object.__getattribute__(value, "__dict__")
    except AttributeError:
        return {}
    return found if type(found) is dict else {}


def _plain_attributes(value: object) -> dict[str, object]:
    """Numbers, short strings and tensors that an object holds: enough for configurations."""
    return {
        name: inside
        for name, inside in list(attributes(value).items())
        if not name.startswith("_")
        and (type(inside) in (bool, int, float, str) or is_tensor(inside) or _is_array(inside))
    }


def _is_array(value: object) -> bool:
    return is_a(value, "numpy", "ndarray")


def _members(inside: dict[Any, Any]) -> dict[str, Value]:
    return {
        str(key): describe(one, str(key), members=False)
        for key, one in list(inside.items())[:MOST_MEMBERS]
        if type(key) in (str, int)
    }


def _sequence(value: list[Any] | tuple[Any, ...], text: str, members: bool) -> Value:
    inner = [len(one) for one in value[:MOST_LENGTHS] if type(one) in (list, tuple)]
    shown = {}
    kinds = _kinds(value)
    if members and len(value) <= MOST_MEMBERS:
        shown = _members(dict(enumerate(value)))
    return Value(
        text,
        type(value).__name__,
        id(value),
        length=len(value),
        lengths=tuple(inner) if inner and len(inner) == min(len(value), MOST_LENGTHS) else None,
        nones=sum(one is None for one in value),
        members=shown,
        kinds=kinds,
        odd=_odd(value, kinds),
    )


def _kinds(value: list[Any] | tuple[Any, ...]) -> dict[str, int]:
    return dict(Counter(_kind(one) for one in value[:MOST_KINDS]))


def _kind(value: object) -> str:
    """The class; a float that is no number goes by that name."""
    if type(value) is float and value != value:
        return "nan"
    return type(value).__name__


def _odd(value: list[Any] | tuple[Any, ...], kinds: dict[str, int]) -> tuple[int, ...]:
    if len(kinds) < 2:
        return ()
    most = max(kinds, key=lambda kind: kinds[kind])
    found = (at for at, one in enumerate(value[:MOST_KINDS]) if _kind(one) != most)
    return tuple(islice(found, MOST_ODD))


def _tensor(value: Any, text: str) -> Value:
    """By torch's own descriptors: a subclass can have a `shape` of its own."""
    tensor = sys.modules["torch"].Tensor
    base = tensor._base.__get__(value) if tensor._is_view(value) else None
    strided = str(tensor.layout.__get__(value)) == "torch.strided"
    least, greatest, not_finite = _range(value)
    return Value(
        text,
        type(value).__name__,
        id(value),
        shape=tuple(int(size) for size in tensor.shape.__get__(value)),
        dtype=str(tensor.dtype.__get__(value)).removeprefix("torch."),
        device=str(tensor.device.__get__(value)),
        stride=tuple(int(step) for step in tensor.stride(value)) if strided else None,
        contiguous=bool(tensor.is_contiguous(value)) if strided else None,
        requires_grad=bool(tensor.requires_grad.__get__(value)),
        leaf=bool(tensor.is_leaf.__get__(value)),
        base_shape=tuple(int(size) for size in tensor.shape.__get__(base))
        if base is not None
        else None,
        base_contiguous=bool(tensor.is_contiguous(base)) if base is not None else None,
        least=least,
        greatest=greatest,
        not_finite=not_finite,
        made_at=origins.made_at(value),
    )


def _range(value: Any) -> tuple[float | None, float | None, int | None]:
    """Least and greatest finite element, and how many are not finite."""
    torch = sys.modules["torch"]
    if type(value).__torch_dispatch__ is not torch._C._disabled_torch_dispatch_impl:
        return None, None, None  # every operation would ask its class
    count = int(torch.Tensor.numel(value))
    device = torch.Tensor.device.__get__(value).type
    readable = device in ("cpu", "cuda", "mps", "xpu") and not torch.Tensor.is_complex(value)
    if not 0 < count <= LOOKED_AT or not readable:
        return None, None, None
    try:
        plain = torch.Tensor.detach(value)
        if plain.dtype.is_floating_point:
            finite = plain[torch.isfinite(plain)]
            if finite.numel() == 0:
                return None, None, count
            least, greatest = torch.aminmax(finite)
            return float(least), float(greatest), count - int(finite.numel())
        least, greatest = torch.aminmax(plain.to(torch.int64))
        return float(least), float(greatest), 0
    except (RuntimeError, NotImplementedError, TypeError):
        return None, None, None


def _not_numbers(array: Any) -> dict[str, Value]:
    """The first cells of an array of objects that no number can be made of, by their place."""
    found: dict[str, Value] = {}
    for at, cell in enumerate(array.flat):
        if type(cell) not in (bool, int, float) and not _reads_as_a_number(cell):
            rest = at
            place: list[int] = []
            for size in reversed(array.shape):
                place.insert(0, rest % size)
                rest //= size
            found[str(place)] = describe(cell, str(place), members=False)
            if len(found) == MOST_ODD:
                break
    return found


def _reads_as_a_number(cell: object) -> bool:
    if type(cell) is str:
        try:
            float(cell)
        except ValueError:
            return False
        return True
    return type(cell).__module__ == "numpy" and is_a(cell, "numpy", "number")


def _array(value: Any, text: str) -> Value:
    numpy = sys.modules["numpy"]
    least = greatest = not_finite = None
    looked_at = value.dtype.kind in "iuf" and 0 < value.size <= LOOKED_AT
    if looked_at and "memmap" not in type(value).__name__:
        plain = numpy.asarray(value)
        finite = plain[numpy.isfinite(plain)] if value.dtype.kind == "f" else plain
        not_finite = int(plain.size - finite.size)
        if finite.size:
            least, greatest = float(finite.min()), float(finite.max())
    file = attributes(value).get("filename")
    objects = value.dtype.kind == "O" and 0 < value.size <= LOOKED_AT
    return Value(
        text,
        type(value).__name__,
        id(value),
        members=_not_numbers(value) if objects else {},
        shape=tuple(int(size) for size in value.shape),
        dtype=str(value.dtype),
        stride=tuple(int(step) for step in value.strides),
        contiguous=bool(value.flags["C_CONTIGUOUS"]),
        read_only=not value.flags["WRITEABLE"],
        least=least,
        greatest=greatest,
        not_finite=not_finite,
        length=int(value.shape[0]) if value.shape else None,
        file=str(file) if file else None,
    )
