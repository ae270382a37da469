"""What `surefit env` says of the walls around a trial run."""

import pytest

from surefit.observe.inside.traces import namespaces
from surefit.proof.protection import protection


def test_without_namespaces_the_reason_is_said() -> None:
    said = protection({namespaces.NOT_ISOLATED: "1"})
    assert said == "isolated by Landlock and seccomp; no namespaces: namespaces are switched off"


def test_namespaces_are_preferred() -> None:
    said = protection()
    if "no namespaces" in said:
        pytest.skip(said)
    assert said == "isolated by namespaces"
