"""State that goes from step to step with its graph: what carries it, and where it is let go."""

from graph_recordings import after, backward_crash, found, joint, left, name, script, told
from surefit.doctor.observations import Json, Script
from surefit.rules.graph.state_carried_without_detach import RULE

LOOP = script(
    """
    state = start
    for x, y in batches:
        out, state = model(x, state)
        loss = error(out, y)
        loss.backward()
        optimizer.step()
    """
)
USED = "out, state = model"


def recording(one: Script, part: str = "loss.backward()", **more: Json) -> tuple[object, ...]:
    joints = [joint(one, USED, USED, part, **more)]
    return one, backward_crash(one, part), left(freed=3), told(one, part, joints=joints)


def test_the_name_that_survives_a_step_is_detached_where_it_is_kept() -> None:
    (finding,) = found(RULE, *recording(LOOP, names=[name("out"), name("state")]))
    assert finding.place.line == 3
    assert "`state` is carried from one step to the next" in finding.headline
    changed = after(LOOP, finding).splitlines()
    assert changed[2:4] == [
        "    out, state = model(x, state)",
        "    state = state.detach()",
    ]


def test_each_of_a_pair_is_detached() -> None:
    pair = name("state[0]", "state", "tuple")
    (finding,) = found(RULE, *recording(LOOP, names=[pair]))
    assert "    state = tuple(part.detach() for part in state)\n" in after(LOOP, finding)


def test_what_the_step_still_uses_is_let_go_behind_its_backward_pass() -> None:
    one = script(
        """
        h = start
        for window in windows:
            loss = 0
            for x in window:
                h = cell(x, h)
                loss = loss + error(h)
            loss.backward()
            optimizer.step()
        """
    )
    kept = "h = cell(x, h)"
    joints = [joint(one, kept, kept, "loss.backward()", names=[name("h")])]
    crash = backward_crash(one, "loss.backward()")
    seen = one, crash, left(freed=3), told(one, "loss.backward()", joints=joints)
    (finding,) = found(RULE, *seen)
    assert "    loss.backward()\n    h = h.detach()\n" in after(one, finding)


def test_a_running_loss_keeps_its_value_only() -> None:
    one = script(
        """
        total = 0.0
        for x in batches:
            loss = error(model(x))
            total += loss
            total.backward()
        """
    )
    joints = [
        joint(one, "total += loss", "total += loss", "total.backward()", names=[name("total")])
    ]
    crash = backward_crash(one, "total.backward()")
    seen = one, crash, left(freed=3), told(one, "total.backward()", joints=joints)
    (finding,) = found(RULE, *seen)
    assert "total += loss.detach()\n    loss.backward()\n" in after(one, finding)


def test_a_tensor_made_in_this_very_step_is_another_fault() -> None:
    assert found(RULE, *recording(LOOP, names=[name("state")], repeated=False)) == []


def test_a_name_that_no_step_reads_first_carries_nothing() -> None:
    assert found(RULE, *recording(LOOP, names=[name("out")])) == []


def test_a_graph_that_is_still_there_is_silent() -> None:
    one, crash, _, story = recording(LOOP, names=[name("state")])
    assert found(RULE, one, crash, left(freed=2, kept=1), story) == []
    assert found(RULE, one, crash, story) == []
