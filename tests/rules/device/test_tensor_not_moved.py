"""What was not moved: a tensor of a batch, one made inside the model, or the model itself."""

from textwrap import dedent

from failed_operations import crash, operation, story, weight
from surefit.doctor.conditions.values import ValuesAt
from surefit.doctor.findings import Finding, Place
from surefit.doctor.observations import Answer, Frame, Layer, Script, Value
from surefit.doctor.recording import Recording
from surefit.rules.device.tensor_not_moved import RULE

TEXT = dedent(
    """\
    class Net(nn.Module):
        def forward(self, x):
            noise = torch.randn(4, 7)
            return x + noise
    net = Net()
    for x, y in loader:
        x = x.to(device)
        loss = loss_of(net(x), y)
    """
)
LINEAR = Layer("Linear", "proj", "Net", Place("train.py", 5))
NET = Layer("Net", "", "Net", Place("train.py", 5), own=True)


def tensor(text: str, device: str) -> Value:
    return Value(text, "Tensor", hash(text), shape=(4, 7), dtype="float32", device=device)


def found(frames: tuple[Frame, ...], told: Answer) -> list[Finding]:
    return list(RULE.look(Recording([Script("train.py", TEXT), crash(*frames), told])))


LOOP = Frame(
    Place("train.py", 8),
    "<module>",
    True,
    "loss = loss_of(net(x), y)",
    "loss_of(net(x), y)",
    values=(tensor("x", "meta"), tensor("y", "cpu"), Value("net", "Net", layer=NET)),
)
FORWARD = Frame(
    Place("train.py", 4),
    "Net.forward",
    True,
    "return x + noise",
    "x + noise",
    values=(tensor("x", "meta"), tensor("noise", "cpu")),
    layer=NET,
    arguments=("self", "x"),
)


def test_a_tensor_of_the_batch_is_moved_beside_the_others() -> None:
    told = story(
        operation(9, "mse_loss", (), (5, 4), line=8),
        operation(5, "linear", (4, 7), (2, 3), line=8, device="meta"),
        operation(4, "stack", (4, 7), line=6, own=False),
        weight(3, LINEAR, (7, 7), device="meta"),
        operation(2, "to", (4, 7), line=7, device="meta"),
    )
    (finding,) = found((LOOP,), told)
    assert finding.place == Place("train.py", 7)
    assert finding.headline == "`y` is on cpu, and the model is on meta: it was not moved."
    (fix,) = finding.fixes
    assert fix.edit is not None
    assert fix.edit.changes[0].text.strip() == "y = y.to(device)"
    assert isinstance(fix.must, ValuesAt)
    assert fix.must.wanted[0].device == "meta"


def test_a_tensor_that_is_made_in_forward_is_made_elsewhere() -> None:
    told = story(
        operation(9, "add", (), (5, 4), line=4),
        operation(5, "linear", (4, 7), (3,), line=4, device="meta"),
        operation(4, "randn", (4, 7), line=3),
        weight(3, LINEAR, (7, 7), device="meta"),
    )
    (finding,) = found((LOOP, FORWARD), told)
    assert finding.place == Place("train.py", 3, 3)
    assert finding.fixes[0].text == "Make it where its neighbours are: `device=x.device`."


def test_weights_on_the_cpu_that_meet_a_moved_input() -> None:
    told = story(
        operation(9, "linear", (), (2, 3), line=8),
        weight(3, LINEAR, (7, 7)),
        operation(2, "to", (4, 7), line=7, device="meta"),
    )
    (finding,) = found((LOOP,), told)
    assert finding.place == Place("train.py", 5)
    assert finding.headline == "`net` is on cpu, and what it is given is on meta: it was not moved."
    assert finding.fixes[0].edit is not None


def test_single_numbers_on_the_cpu_go_with_everything() -> None:
    told = story(
        operation(9, "mul", (), (5, 4), line=8),
        operation(5, "linear", (4, 7), (3,), line=8, device="meta"),
        operation(4, "tensor", (), line=6),
        weight(3, LINEAR, (7, 7), device="meta"),
    )
    assert found((LOOP,), told) == []
