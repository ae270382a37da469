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


def test_otherwise_only_the_user_can_choose() -> None:
    (finding,) = found(RULE, UNTOLD, backward_crash(UNTOLD, "loss.backward()"), left(shape=(2, 3)))
    assert [fix.edit for fix in finding.fixes] == [None, None]
    assert all(fix.why_not_tried for fix in finding.fixes)


def test_one_element_or_no_graph_is_silent() -> None:
    crash = backward_crash(UNTOLD, "loss.backward()")
    assert found(RULE, UNTOLD, crash, left(shape=(1, 1))) == []
    assert found(RULE, UNTOLD, crash, left(shape=(3,), grad=False)) == []
    assert found(RULE, UNTOLD, crash) == []
