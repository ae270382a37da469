"""What an `except` does is read from its source."""

import ast
from textwrap import dedent, indent

import pytest

from surefit.doctor.findings import Place
from surefit.doctor.handlers import (
    computes_instead,
    handler_at,
    is_blind,
    is_retried,
    only_notes,
    passes_on,
    tells_whether,
)
from surefit.source.reading import Source


def handler(
    body: str, kind: str = "Exception", tried: str = "loss = model(x)"
) -> tuple[Source, ast.ExceptHandler]:
    text = f"for x in data:\n    try:\n        {tried}\n    except {kind}:\n"
    source = Source("train.py", text + indent(dedent(body), "        ") + "\n")
    found = handler_at(source, Place("train.py", 4))
    assert found is not None
    return source, found


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("Exception", True),
        ("Exception as error", True),
        ("BaseException", True),
        ("(ValueError, Exception)", True),
        ("RuntimeError", False),
        ("(KeyError, ValueError)", False),
        ("torch.OutOfMemoryError", False),
    ],
)
def test_blind_handlers(kind: str, expected: bool) -> None:
    assert is_blind(handler("pass", kind)[1]) is expected


def test_a_bare_except_is_blind() -> None:
    source = Source("train.py", "try:\n    f()\nexcept:\n    pass\n")
    found = handler_at(source, Place("train.py", 3))
    assert found is not None
    assert is_blind(found)


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("raise", True),
        ("log(1)\nraise ValueError from None", True),
        ("sys.exit(1)", True),
        ("os._exit(2)", True),
        ("if bad:\n    raise", False),
        ("pass", False),
    ],
)
def test_handlers_that_pass_the_exception_on(body: str, expected: bool) -> None:
    assert passes_on(handler(body)[1]) is expected


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("loss = model(x.cpu())", True),
        ("loss = plain_loss(x)", True),
        ("model(x)", True),
        ("loss = float('inf')", False),
        ("loss = torch.tensor(0.0)", False),
        ("print(describe(x))", False),
        ("rows = rows[: len(rows) // 2]", False),
        ("report(x)", False),
        ("pass", False),
    ],
)
def test_handlers_that_get_the_result_in_another_way(body: str, expected: bool) -> None:
    assert computes_instead(*handler(body)) is expected


@pytest.mark.parametrize(
    ("tried", "expected"),
    [
        ("loss = model(x); break", True),
        ("if model(x): break", True),
        ("loss = model(x)", False),
    ],
)
def test_loops_that_try_until_it_works(tried: str, expected: bool) -> None:
    assert is_retried(*handler("pass", tried=tried)) is expected


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("pass", True),
        ("continue", True),
        ("logger.debug('no')\ncontinue", True),
        ("print('no')", True),
        ("failed += 1", False),
        ("raise", False),
        ("loss = 0.0", False),
    ],
)
def test_handlers_that_at_most_tell_somebody(body: str, expected: bool) -> None:
    assert only_notes(handler(body)[1]) is expected


@pytest.mark.parametrize(
    ("body", "tried", "expected"),
    [
        ("works = False", "model(x); works = True", True),
        ("broken = True", "model(x); broken = False", True),
        ("works = False", "model(x)", False),
        ("works = False", "model(x); other = True", False),
        ("works = 0.0", "model(x); works = 1.0", False),
        ("score = 10000.0", "score = evaluate(x)", False),
    ],
)
def test_a_try_that_finds_out_whether_something_works(
    body: str, tried: str, expected: bool
) -> None:
    assert tells_whether(*handler(body, tried=tried)) is expected
