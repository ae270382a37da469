"""Names of a state dict that differ from those of a module by a prefix."""

import pytest

from surefit.doctor.findings import Place
from surefit.doctor.violations import Expression
from surefit.laws.contracts.state_dicts import Loading, StateDictNames

OWN = {"body.weight": (4, 3), "body.bias": (4,)}
WRAPPED = {f"module.{name}": shape for name, shape in OWN.items()}


@pytest.mark.parametrize(
    ("given", "prefix"),
    [
        (WRAPPED, "module."),
        ({"n_averaged": (), **WRAPPED}, "module."),
        ({"n_averaged": (2,), **WRAPPED}, ""),
        ({"other.weight": (1,), **WRAPPED}, ""),
        ({"n_averaged": (), "module.body.weight": (4, 3)}, ""),
        (OWN, ""),
    ],
)
def test_a_wrapper_may_count_beside_what_it_wraps(
    given: dict[str, tuple[int, ...]], prefix: str
) -> None:
    loading = Loading(kind="Model", own=OWN, given=given)
    broken = StateDictNames(use=Expression(Place("train.py", 1)), loading=loading)
    assert broken.prefix_too_many == prefix
