"""Lines of a file after a patch."""

from surefit.doctor.moved import became

OLD = ["import torch", "for x in rows:", "    a(x)", "    b(x)", "c()"]


def test_lines_that_only_went_down_or_in_are_found_again() -> None:
    new = [OLD[0], "if main:", *(f"    {line}" for line in OLD[1:])]
    assert [list(became(line, OLD, new)) for line in (1, 3, 5)] == [[1], [4], [6]]


def test_a_line_that_was_rewritten_is_all_that_stands_in_its_place() -> None:
    new = [*OLD[:2], "    x = x.clone()", "    a(x + 1)", *OLD[3:]]
    assert list(became(3, OLD, new)) == [3, 4]
    assert list(became(4, OLD, [*OLD[:3], *OLD[4:]])) == []
