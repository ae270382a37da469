"""What a library's line passes, what an override takes and returns, and the edits of its `def`."""

import ast

import pytest

from surefit.doctor.findings import Place
from surefit.doctor.observations import Frame, Value
from surefit.doctor.recording import Recording
from surefit.laws.case import Case
from surefit.laws.contracts.overrides import can_be_unpacked, passed_on, receiver_and_name
from surefit.laws.contracts.setting_keys import is_end_of, nearest_key
from surefit.remedies.taking import GiveDefaults, TakeMore
from surefit.source.overrides import overridden, returned_on_request, signature
from surefit.source.patches import patched
from surefit.source.reading import Source

NOWHERE = Case(Recording([]))


def frame(*values: Value) -> Frame:
    return Frame(Place("trainer.py", 1), "Trainer.step", own=False, values=values)


def call(text: str) -> ast.Call:
    node = ast.parse(text, mode="eval").body
    assert isinstance(node, ast.Call)
    return node


def method(signature_text: str) -> tuple[Source, ast.FunctionDef]:
    source = Source("a.py", f"class A:\n    def step({signature_text}):\n        pass\n")
    (function,) = source.every(ast.FunctionDef)
    return source, function


def test_what_is_unpacked_counts() -> None:
    more = Value("more", "dict", length=1, members={"c": Value("c", "int")})
    passed = passed_on(call("self.f(a, *rest, b=1, **more)"), frame(more))
    assert passed.count == 1
    assert passed.names == ("b", "c")
    assert not passed.certain


def test_methods_by_their_name() -> None:
    event = Value("event", "str", scalar="on_log")
    assert receiver_and_name(call("self.f(a)"), frame()) == ("self", "f")
    assert receiver_and_name(call("getattr(c, event)(a)"), frame(event)) == ("c", "on_log")
    assert receiver_and_name(call("f(a)"), frame()) == ("", "")


@pytest.mark.parametrize(
    ("before", "names", "rest", "after"),
    [
        ("self, a", ("b",), "", "self, a, b=None"),
        ("self, a=lambda x, y: x", ("b",), "", "self, a=lambda x, y: x, b=None"),
        ("self, a, *, c", ("b",), "", "self, a, b=None, *, c"),
        ("self, *a", ("b",), "", "self, *a, b=None"),
        ("self, a: dict[str, int], *, c=(1)", (), "**kwargs", None),
        ("self, a", (), "*args", "self, a, *args"),
    ],
)
def test_a_signature_takes_more(
    before: str, names: tuple[str, ...], rest: str, after: str | None
) -> None:
    source, function = method(before)
    edit = TakeMore(source=source, function=function, names=names, rest=rest).edit(NOWHERE)
    assert edit is not None
    assert f"def step({after or before + ', **kwargs'}):" in patched(edit, source.text)


def test_defaults_for_what_nobody_passes() -> None:
    source, function = method("self, a, b: int, c=1")
    edit = GiveDefaults(source=source, function=function, names=("b",)).edit(NOWHERE)
    assert edit is not None
    assert "def step(self, a, b: int=None, c=1):" in patched(edit, source.text)
    assert GiveDefaults(source=source, function=function, names=("a",)).edit(NOWHERE) is None


def test_the_method_of_the_library_is_read() -> None:
    text = (
        "from transformers import Trainer\n"
        "class A(Trainer):\n    pass\n"
        "class B(A):\n    def compute_loss(self, model, inputs):\n        return 0\n"
    )
    source = Source("a.py", text)
    known = overridden(source, list(source.every(ast.ClassDef))[1], "compute_loss")
    assert known is not None
    assert known.owner == "Trainer"
    assert "return_outputs=False" in signature(known.function)
    request = returned_on_request(known.function, 2)
    assert request is not None
    assert (request.parts, request.asked_by) == (("loss", "outputs"), "return_outputs")


@pytest.mark.parametrize(
    ("text", "can"),
    [("(a, b)", True), ("(a, b, c)", False), ("a", False), ("super().f(x)", True), ("f(x)", False)],
)
def test_values_that_can_be_unpacked_into_two(text: str, can: bool) -> None:
    assert can_be_unpacked(ast.parse(text, mode="eval").body, 2) is can


@pytest.mark.parametrize(
    ("text", "key", "is_end"),
    [("f1", "eval_f1", True), ("f1", "f1", True), ("1", "eval_f1", False), ("", "f1", False)],
)
def test_ends_of_keys(text: str, key: str, is_end: bool) -> None:
    assert is_end_of(text, key) is is_end


@pytest.mark.parametrize(
    ("written", "keys", "near"),
    [
        ("f1", ("loss", "macro_f1"), "macro_f1"),
        ("macro_f1", ("loss", "f1"), "f1"),
        ("accuracy", ("loss", "acc"), "acc"),
        ("gleu", ("gelu", "relu"), "gelu"),
        ("f1", ("loss", "accuracy"), ""),
    ],
)
def test_nearest_keys(written: str, keys: tuple[str, ...], near: str) -> None:
    assert nearest_key(written, keys) == near
