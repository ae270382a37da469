"""Two passes through one graph: which loss is detached, or that both are added."""

from graph_recordings import after, backward_crash, found, joint, left, name, script, stood, told
from surefit.doctor.observations import Json, Script
from surefit.rules.graph.graph_used_by_two_losses import RULE

PAIR = script(
    """
    for real in batches:
        fake = generator(noise)
        first = judge(critic(fake)) + judge(critic(real))
        first.backward()
        one.step()
        second = judge(critic(fake))
        second.backward()
        two.step()
    """
)


def recording(
    one: Script = PAIR,
    made: str = "fake = ",
    taken: str = "second = ",
    passes: tuple[str, str] = ("first.", "second."),
    **more: Json,
) -> tuple[object, ...]:
    joints = [joint(one, made, taken, f"{passes[0]}backward()", repeated=False, **more)]
    call = f"{passes[1]}backward()"
    return one, backward_crash(one, call), left(freed=4), told(one, call, joints=joints)


def test_an_optimizer_that_does_not_train_what_is_shared_asks_for_detach_in_its_loss() -> None:
    seen = recording(
        names=[name("fake")],
        steps_since=1,
        stepped=0,
        leaves=4,
        entered=[[stood(PAIR, "first = ")]],
    )
    (finding,) = found(RULE, *seen)
    assert finding.place.line == 3
    assert "first = judge(critic(fake.detach())) + judge" in after(PAIR, finding)


def test_an_optimizer_that_does_asks_for_it_in_the_other() -> None:
    (finding,) = found(RULE, *recording(names=[name("fake")], steps_since=1, stepped=4, leaves=4))
    assert finding.place.line == 6
    assert "second = judge(critic(fake.detach()))\n" in after(PAIR, finding)


def test_losses_of_one_optimizer_are_added() -> None:
    one = script(
        """
        for x in batches:
            h = trunk(x)
            a, b = left(h), right(h)
            a.backward()
            b.backward()
            optimizer.step()
        """
    )
    seen = recording(one, "h = trunk", "a, b = ", ("a.", "b."), names=[name("h")], leaves=2)
    (finding,) = found(RULE, *seen)
    assert "    (a + b).backward()\n    optimizer.step()" in after(one, finding)
    assert "a.backward()\n    b." not in after(one, finding)


def test_a_second_pass_through_one_loss_is_taken_out() -> None:
    one = script(
        """
        for x in batches:
            loss = error(x)
            loss.backward()
            (loss).backward()
        """
    )
    seen = recording(one, "loss = error", "", ("    loss.", "(loss)."))
    (finding,) = found(RULE, *seen)
    assert "(loss)" not in after(one, finding)


def test_a_graph_of_an_earlier_round_is_another_fault() -> None:
    _, crash, graph, _ = recording()
    joints = [joint(PAIR, "fake = ", "second = ", "first.backward()", repeated=True)]
    assert found(RULE, PAIR, crash, graph, told(PAIR, "second.backward()", joints=joints)) == []
