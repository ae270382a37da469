"""Functions that stand before others and are not seen to do so."""

import traceback
import warnings
from pathlib import Path
from typing import Any

import pytest

from surefit.observe.inside import spool, unseen


def warns(value: int) -> int:
    """Says so of whoever calls it."""
    warnings.warn("here", stacklevel=2)
    return value


def fails(value: int) -> int:
    raise ValueError(str(value))


def replaced(value: int) -> int:
    return fails(value)


def stand_in(value: int) -> int:
    for _ in range(40):  # far more instructions than an entry of the table holds
        value += 1
    if value > 1:
        value = value - 40
    return fails(value)


def test_a_warning_names_the_line_that_called() -> None:
    before = unseen.around(warns, lambda _args, _kwargs: True)
    with pytest.warns(UserWarning, match="here") as caught:
        assert before(3) == 3
    assert caught[0].filename == __file__


def test_begin_and_end_are_called_in_order() -> None:
    said: list[Any] = []

    def begin(args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
        said.append((args, kwargs))
        return args != (0,)

    around = unseen.around(abs_of, begin, lambda args, result: said.append((args, result)))
    assert around(-2) == 2
    assert around(0) == 0
    assert said == [((-2,), {}), ((-2,), 2), ((0,), {})]
    assert around.__name__ == "abs_of"
    assert around.__wrapped__ is abs_of  # type: ignore[attr-defined]


def test_a_failure_of_the_observer_is_not_the_user_s(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(spool.FOLDER, str(tmp_path))
    monkeypatch.setattr(spool, "_failed", set())

    def fail(*_: Any) -> bool:
        raise ZeroDivisionError

    assert unseen.around(abs_of, fail)(-2) == 2
    assert unseen.around(abs_of, lambda _args, _kwargs: True, fail)(-2) == 2  # type: ignore[arg-type]
    (file,) = tmp_path.iterdir()
    assert "calls of abs_of" in file.read_text()


def abs_of(value: int) -> int:
    return abs(value)


def test_end_is_called_when_it_raises_and_its_frame_can_be_taken_out() -> None:
    ended: list[Any] = []
    around = unseen.around(fails, lambda _args, _kwargs: True, lambda *said: ended.append(said))
    with pytest.raises(ValueError, match="7") as caught:
        around(7)
    assert ended == [((7,), None)]
    assert [frame.name for frame in caught.traceback].count("wrapper") == 1
    shown = unseen.without_surefit(caught.value.__traceback__)
    names = [frame.name for frame in traceback.extract_tb(shown)]
    assert names == ["test_end_is_called_when_it_raises_and_its_frame_can_be_taken_out", "fails"]


def test_a_stand_in_cannot_be_told_from_what_it_replaces() -> None:
    def said(function: Any) -> str:
        try:
            function(7)
        except ValueError:
            return traceback.format_exc()
        raise AssertionError

    before = said(replaced)
    unseen.stands_for(stand_in, replaced)
    assert said(stand_in) == before
