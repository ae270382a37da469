"""Numbers and shapes as people write them."""

from surefit.doctor.words import bytes_of, code, counted, listed, shape_of, spoken, times


def test_counts() -> None:
    assert counted(1, "row") == "1 row"
    assert counted(1144, "label") == "1,144 labels"
    assert counted(2, "axis") == "2 axes"


def test_lists() -> None:
    assert listed((512, 468)) == "512, 468"
    assert listed(range(10)) == "0, 1, 2, 3, 4, 5, 6, 7 and 2 more"
    assert spoken(["a"]) == "a"
    assert spoken(["a", "b", "c"]) == "a, b and c"


def test_shapes() -> None:
    assert shape_of((256, 999, 4000)) == "(256, 999, 4000)"
    assert shape_of((6,)) == "(6,)"
    assert shape_of(()) == "()"
    assert times((256, 999)) == "256 × 999"


def test_code_on_one_line() -> None:
    assert code("f(\n    x,\n)") == "`f( x, )`"


def test_bytes() -> None:
    assert bytes_of(8388608) == "8.4 MB"
    assert bytes_of(1.5e9) == "1.5 GB"
    assert bytes_of(12) == "12 bytes"
