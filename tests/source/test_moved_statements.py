"""Which names running statements can touch, and what can be moved behind them."""

from surefit.source.edits import moved_after
from surefit.source.line_edits import used_by
from surefit.source.reading import Source


def test_names_of_a_function_are_not_touched_by_functions_outside_of_it() -> None:
    text = (
        "def build(model):\n    optimizer = 1\n    return Net(model)\n"
        "def main():\n    optimizer = Adam(model)\n    model = build(model)\n    run(optimizer)\n"
    )
    source = Source("train.py", text)
    first, second = source.statement_at(5), source.statement_at(6)
    assert first is not None
    assert second is not None
    assert "optimizer" not in used_by(source, [second])
    assert moved_after(source, first, second) is not None


def test_names_of_the_module_are_touched_by_its_functions() -> None:
    text = "def build():\n    return optimizer\noptimizer = 1\nmodel = build()\n"
    source = Source("train.py", text)
    second = source.statement_at(4)
    assert second is not None
    assert "optimizer" in used_by(source, [second])
