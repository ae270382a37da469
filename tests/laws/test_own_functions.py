"""Which gradients autograd takes for an input."""

import pytest

from surefit.laws.contracts.own_functions import InputOrGradient, fits


def tensor(*shape: int, grad: bool = True) -> InputOrGradient:
    return InputOrGradient("Tensor", shape, "float32", "cpu", grad)


@pytest.mark.parametrize(
    ("taken", "gradient", "fitting"),
    [
        (tensor(4, 3), tensor(4, 3), True),
        (tensor(1, 3), tensor(4, 3), True),
        (tensor(3), tensor(4, 3), True),
        (tensor(3, 4), tensor(4, 3), False),
        (tensor(4, 3), tensor(3), False),
        (tensor(3, 4, grad=False), tensor(4, 3), True),
        (InputOrGradient("int"), tensor(), False),
        (tensor(3), InputOrGradient("float"), False),
    ],
)
def test_shapes(taken: InputOrGradient, gradient: InputOrGradient, fitting: bool) -> None:
    assert fits(taken, gradient) is fitting
