"""Losses with many elements: the way to one number is tried only where the script tells it."""

from graph_recordings import after, backward_crash, found, left, script
from surefit.rules.graph.loss_is_no_scalar import RULE

TOLD = script(
    """
    loss = criterion(model(x), y)
    loss.backward()
    print(loss.mean())
    """
)
UNTOLD = script("loss = criterion(model(x), y)\nloss.backward()\n")


def test_the_rest_of_the_script_tells_the_way() -> None:
    seen = TOLD, backward_crash(TOLD, "loss.backward()"), left(shape=(24,))
    (finding,) = found(RULE, *seen)
    assert "24 elements" in finding.headline
    assert "loss.mean().backward()\n" in after(TOLD, finding)


def test_otherwise_both_ways_are_choices_and_tried() -> None:
    (finding,) = found(RULE, UNTOLD, backward_crash(UNTOLD, "loss.backward()"), left(shape=(2, 3)))
    assert [fix.choice for fix in finding.fixes] == [True, True]
    assert "loss.mean().backward()\n" in after(UNTOLD, finding)
    assert "loss.sum().backward()\n" in after(UNTOLD, finding, 1)


def test_one_element_or_no_graph_is_silent() -> None:
    crash = backward_crash(UNTOLD, "loss.backward()")
    assert found(RULE, UNTOLD, crash, left(shape=(1, 1))) == []
    assert found(RULE, UNTOLD, crash, left(shape=(3,), grad=False)) == []
    assert found(RULE, UNTOLD, crash) == []
