"""Features with one graph for all steps: detached, or computed anew, by what an optimizer holds."""

from graph_recordings import after, backward_crash, found, joint, left, script, told
from surefit.doctor.observations import Json
from surefit.rules.graph.graph_made_before_the_loop import RULE

SCRIPT = script(
    """
    features = encoder(rows)
    for _ in range(5):
        loss = error(head(features), labels)
        loss.backward()
        optimizer.step()
    """
)
BACKWARD = "loss.backward()"


def recording(made: str = "features = encoder", **more: Json) -> tuple[object, ...]:
    joints = [joint(SCRIPT, made, "loss = error", BACKWARD, leaves=2, **more)]
    crash = backward_crash(SCRIPT, BACKWARD)
    return SCRIPT, crash, left(freed=4), told(SCRIPT, BACKWARD, joints=joints)


def test_what_nobody_trains_is_detached() -> None:
    (finding,) = found(RULE, *recording(held=0))
    assert finding.place.line == 1
    assert after(SCRIPT, finding).startswith("features = encoder(rows).detach()\n")


def test_what_an_optimizer_trains_is_computed_in_every_step() -> None:
    (finding,) = found(RULE, *recording(held=2))
    assert after(SCRIPT, finding).startswith(
        "for _ in range(5):\n    features = encoder(rows)\n    loss ="
    )


def test_what_is_made_in_the_loop_is_another_fault() -> None:
    assert found(RULE, *recording(made="loss = error")) == []
