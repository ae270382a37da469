"""Which tensors are looked at, and when."""

from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode

from surefit.observe.inside.training import readable


class Quiet(TorchDispatchMode):
    """Passes everything on."""

    def __torch_dispatch__(
        self, function: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        return function(*args, **(kwargs or {}))


@pytest.mark.filterwarnings("ignore:`torch.jit.trace` is deprecated:DeprecationWarning")
def test_nothing_is_looked_at_under_a_mode_or_a_transformation() -> None:
    asked: list[bool] = [readable.can_look()]
    with Quiet():  # type: ignore[no-untyped-call]
        asked.append(readable.can_look())

    def square(x: torch.Tensor) -> torch.Tensor:
        asked.append(readable.can_look())
        return x * x

    torch.func.vmap(square)(torch.ones(3))
    torch.jit.trace(square, (torch.ones(3),), check_trace=False)
    assert asked == [True, False, False, False]


def test_tensors_without_values_are_left_alone() -> None:
    fake = torch._subclasses.FakeTensorMode().from_tensor(torch.ones(2))
    for tensor in (torch.ones(2, device="meta"), fake, nn.UninitializedParameter(), 3, None):
        assert readable.plain(tensor) is None
    ordinary, parameter = torch.ones(2), nn.Parameter(torch.ones(2))
    assert readable.plain(ordinary) is ordinary
    assert readable.plain(parameter) is parameter
    assert readable.plain(torch.ones(2, dtype=torch.int64)) is not None


def test_looking_belongs_to_no_graph_and_restores_what_was() -> None:
    x = torch.ones(2, requires_grad=True)
    with readable.looking():
        assert not (x * 2).requires_grad
    assert (x * 2).requires_grad
    with torch.no_grad():
        with readable.looking():
            pass
        assert not (x * 2).requires_grad
    with pytest.raises(ValueError, match="as asked"), readable.looking():
        raise ValueError("as asked")
    assert torch.is_grad_enabled()


def test_values_on_a_device_are_read_later() -> None:
    found: list[Any] = []
    readable.read(torch.ones(2), found.append)
    assert found == [[1.0, 1.0]]
    on_device = SimpleNamespace(device=SimpleNamespace(type="cuda"), tolist=lambda: 5)
    readable.read(on_device, found.append)
    assert (readable.waiting(), found) == (1, [[1.0, 1.0]])
    readable.read_waiting()
    assert (readable.waiting(), found) == (0, [[1.0, 1.0], 5])
