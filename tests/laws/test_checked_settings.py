"""What stands behind a check that failed: the setting, its computation, and what was left out."""

import ast

import pytest

from surefit.doctor.findings import Place
from surefit.doctor.observations import FailedCheck, Frame, Value
from surefit.laws.contracts.failed_checks import how_little, said_to_be_none
from surefit.laws.values.constructor_settings import constructor_in, names_behind
from surefit.laws.values.sibling_values import by_pattern
from surefit.rules.run.failed_check import rounded_down, rounded_up
from surefit.source.installed import find
from surefit.source.reading import Source

LOADER = "from torch.utils.data import DataLoader\nloader = DataLoader(data, batch_size=8)\n"


@pytest.mark.parametrize(
    ("before", "expression", "instead"),
    [
        (LOADER, "len(data) // 8", "len(loader)"),
        (LOADER, "3 * (len(data) // 8)", "len(loader)"),
        (LOADER, "len(rows) // 8", "-(-len(rows) // 8)"),
        ("", "(n + 1) // size", "-(-(n + 1) // size)"),
    ],
)
def test_a_division_rounded_up(before: str, expression: str, instead: str) -> None:
    source = Source("train.py", f"{before}steps = {expression}\n")
    last = source.tree.body[-1]
    assert isinstance(last, ast.Assign)
    division = rounded_down(last.value)
    assert division is not None
    assert rounded_up(source, division) == instead


def test_two_divisions_leave_it_open() -> None:
    assert rounded_down(ast.parse("a // b * (c // d)", mode="eval").body) is None


@pytest.mark.parametrize(
    ("call", "text"),
    [
        ("Tokenizer(pad_token='[PAD]', cls_token='[CLS]')", "[MASK]"),
        ("Tokenizer(pad_token='<pad>', vocab=4)", "<mask>"),
        ("Tokenizer(pad_token='[PAD]', unk_token='<unk>')", ""),
        ("Tokenizer(eos_token='</s>', vocab='pad')", ""),
    ],
)
def test_a_value_by_the_pattern_of_its_siblings(call: str, text: str) -> None:
    node = ast.parse(call, mode="eval").body
    assert isinstance(node, ast.Call)
    assert by_pattern("mask_token", node) == text


@pytest.mark.parametrize(
    ("text", "result", "absent"),
    [
        ("tokenizer.mask_token is None", True, "tokenizer.mask_token"),
        ("tokenizer.mask_token is not None", False, "tokenizer.mask_token"),
        ("tokenizer.mask_token is None", False, ""),
        ("read() is None", True, ""),
    ],
)
def test_none_by_the_check_itself(text: str, result: bool, absent: str) -> None:
    assert said_to_be_none(FailedCheck(text, result, ())) == absent


def test_a_flag_says_the_least() -> None:
    values = (Value("self.mlm", "bool", scalar=True), Value("n", "int", scalar=1))
    frame = Frame(Place("library.py", 1), "check", False, values=values)
    flag = FailedCheck("self.mlm", True, ("self.mlm",))
    absent = FailedCheck("self.mask is None", True, ("self.mask",))
    assert how_little(frame, flag) > how_little(frame, absent)
    both = FailedCheck("n > self.mlm", True, ("n", "self.mlm"))
    assert how_little(frame, both) < how_little(frame, absent)


def test_the_arguments_that_an_attribute_is_computed_from() -> None:
    found = find("torch.optim.lr_scheduler.OneCycleLR")
    assert found is not None
    constructor = constructor_in(found)
    assert constructor is not None
    behind = names_behind("total_steps", constructor)
    assert {"total_steps", "epochs", "steps_per_epoch"} <= set(behind)
