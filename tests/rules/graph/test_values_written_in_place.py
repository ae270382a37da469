"""What backward needs and was written to: by which line, or by which optimizer's step."""

import pytest

from graph_recordings import after, backward_crash, found, joint, left, script, stood, told
from surefit.doctor.observations import Json, Script
from surefit.rules.graph.needed_value_overwritten import RULE as OVERWRITTEN
from surefit.rules.graph.state_carried_without_detach import RULE as CARRIED
from surefit.rules.graph.step_before_backward import RULE as STEP

CHANGED = [{"function": "Exp", "attribute": "_saved_result", "shape": [4], "version": 1}]


def recording(
    one: Script, kept: str, written: str, operation: str, **more: Json
) -> tuple[object, ...]:
    change: dict[str, Json] = {"name": operation, "number": 5, "stack": [stood(one, written)]}
    change["library"] = more.pop("library", "")
    value = {
        "function": "ExpBackward0",
        "attribute": "_saved_result",
        "shape": [4],
        "leaf": False,
        "made": [stood(one, kept)],
        "changes": [change],
        "passes": more.pop("passes", 0),
    }
    story = told(one, "loss.backward()", changed=[value], **more)
    return one, backward_crash(one, "loss.backward()"), left(changed=CHANGED), story


def loop(line: str, before: str = "") -> Script:
    text = f"{before}\n" if before else ""
    return script(f"{text}for x in batches:\n    h = x.exp()\n    {line}\n    loss.backward()\n")


@pytest.mark.parametrize(
    ("line", "operation", "text"),
    [
        ("h += 0.1 * x", "add_", "h = h + 0.1 * x\n"),
        ("h *= a + b", "mul_", "h = h * (a + b)\n"),
        ("h[mask] = 0", "__setitem__", "h = h.clone()\n    h[mask] = 0\n"),
        ("h.clamp_(0).add_(1)", "add_", "h = h.clamp(0).add(1)\n"),
        ("y = h.relu_()", "relu_", "y = h.relu()\n"),
        ("y = relu(h, inplace=True)", "relu_", "relu(h, inplace=False)"),
    ],
)
def test_the_writing_line_makes_a_new_tensor(line: str, operation: str, text: str) -> None:
    one = loop(line)
    seen = recording(one, "h = x.exp()", line, operation)
    (finding,) = found(OVERWRITTEN, *seen)
    assert finding.place.line == 3
    assert text in after(one, finding)
    assert found(STEP, *seen) == []


def test_a_layer_that_writes_in_place_is_named_where_it_was_made() -> None:
    one = loop("y = act(h)", "act = nn.ReLU(inplace=True)")
    (finding,) = found(OVERWRITTEN, *recording(one, "h = x.exp()", "y = act(h)", "relu_"))
    assert finding.place.line == 1
    assert "nn.ReLU(inplace=False)" in after(one, finding)


TWO = script(
    """
    for x in batches:
        second = critic(actor(x))
        first.backward()
        one.step()
        loss = second
        loss.backward()
    """
)


def test_a_loss_is_computed_after_the_step_that_changes_its_weights() -> None:
    by = {"library": "Adam.step", "passes": 1}
    seen = recording(TWO, "second = ", "one.step()", "_foreach_addcdiv_", **by)
    (finding,) = found(STEP, *seen)
    assert finding.place.line == 4
    assert "one.step()\n    second = critic(actor(x))\n    loss = second" in after(TWO, finding)
    assert found(OVERWRITTEN, *seen) == []
    assert found(CARRIED, *seen) == []


def test_a_step_before_the_only_pass_goes_behind_it() -> None:
    seen = recording(TWO, "second = ", "one.step()", "add_", library="SGD.step")
    (finding,) = found(STEP, *seen)
    assert after(TWO, finding).endswith("    loss.backward()\n    one.step()\n")


def test_a_statement_that_reads_what_it_fills_reads_a_copy() -> None:
    one = loop("h[1] = f(h[0])")
    seen = recording(one, "h = x.exp()", "h[1] = f(h[0])", "__setitem__")
    (finding,) = found(OVERWRITTEN, *seen)
    assert "h[1] = f(h[0].clone())" in after(one, finding)


def test_an_old_graph_that_was_retained_is_carried_state() -> None:
    one = script(
        """
        for x in batches:
            out, h = model(x, h)
            loss.backward()
            optimizer.step()
        """
    )
    name = {"text": "h", "function": "<module>", "file": "train.py", "base": "h"}
    kept = "out, h = model"
    joints = [joint(one, kept, kept, "loss.backward()", names=[name], retained=True, freed=False)]
    seen = recording(one, kept, "optimizer.step()", "add_", library="SGD.step", joints=joints)
    (finding,) = found(CARRIED, *seen)
    assert "the optimizer has changed the weights" in finding.headline
    assert found(STEP, *seen) == []


def test_nothing_written_is_silent() -> None:
    one, crash, _, story = recording(loop("h += 1"), "h = x.exp()", "h += 1", "add_")
    assert found(OVERWRITTEN, one, crash, left(), story) == []
    assert found(STEP, one, crash, left(), story) == []
