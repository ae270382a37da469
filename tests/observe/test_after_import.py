"""Patches of modules that come later, and of those that were there before surefit."""

import sys
from types import ModuleType

import pytest

from surefit.observe.inside import after_import


@pytest.fixture
def early(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """A module that is loaded, and one that has taken its function over."""
    monkeypatch.setattr(after_import, "_waiting", {})
    monkeypatch.setattr(after_import, "_caught_up", False)
    monkeypatch.setattr(after_import, "_holders", None)
    module, user = ModuleType("early_module"), ModuleType("early_user")
    vars(module)["act"] = vars(user)["taken_over"] = lambda: "plain"
    monkeypatch.setitem(sys.modules, "early_module", module)
    monkeypatch.setitem(sys.modules, "early_user", user)
    return module


def patch(module: ModuleType) -> None:
    vars(module)["act"] = needs_what_is_defined_below


def test_what_was_loaded_before_is_patched_when_all_parts_are_there(early: ModuleType) -> None:
    after_import.after_import("early_module")(patch)
    assert early.act() == "plain"
    after_import.catch_up()
    assert early.act() == "patched"
    assert sys.modules["early_user"].taken_over() == "patched"
    assert after_import._waiting == {}


def test_a_fork_patches_what_was_found_before_it_and_nothing_else(early: ModuleType) -> None:
    after_import.after_import("early_module")(patch)
    user, plain = vars(sys.modules["early_user"]), early.act
    user["left_alone"] = plain
    after_import.find_holders()
    user["left_alone"] = user["later"] = "the program's own"
    after_import.catch_up()
    assert early.act() == user["taken_over"]() == "patched"
    assert user["left_alone"] == user["later"] == "the program's own"


def test_from_then_on_it_is_patched_at_once(early: ModuleType) -> None:
    after_import.catch_up()
    after_import.after_import("early_module")(patch)
    assert early.act() == "patched"


def test_what_is_not_loaded_is_waited_for(early: ModuleType) -> None:
    after_import.after_import("absent_module")(patch)
    after_import.catch_up()
    assert early.act() == "plain"
    assert after_import._waiting == {"absent_module": [patch]}


def needs_what_is_defined_below() -> str:
    return "patched"
