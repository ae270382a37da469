"""Objects get the names that the source gives them, in the order in which they were made."""

from surefit.doctor.findings import Place
from surefit.laws.training.made_names import name_at, names_of_made
from surefit.source.reading import Source

SOURCE = Source(
    "train.py",
    "def build(layers):\n"
    "    model = Model(layers)\n"
    "    return model\n"
    "\n"
    "teacher = build(4).eval()\n"
    "student = build(2)\n"
    "first, second = Model(1), Model(2)\n"
    "self.head: nn.Module = nn.Linear(2, 2)\n",
)


def test_the_statement_at_the_line_says_it() -> None:
    assert name_at(SOURCE, Place("train.py", 6)) == "student"
    assert name_at(SOURCE, Place("train.py", 8)) == "self.head"
    assert name_at(SOURCE, Place("train.py", 7)) is None
    assert name_at(SOURCE, Place("train.py", 3)) is None
    assert name_at(None, Place("train.py", 6)) is None


def test_a_function_that_makes_several_is_followed_to_its_calls() -> None:
    made_at = Place("train.py", 2)
    assert names_of_made(SOURCE, made_at, [14, 3]) == {3: "teacher", 14: "student"}
    assert names_of_made(SOURCE, made_at, [3]) == {}
    assert names_of_made(SOURCE, Place("train.py", 6), [9]) == {9: "student"}
