"""What was not moved: a tensor of a batch, one created inside the model, or the model itself."""

from operand_recordings import linear, own, said, tensor
from surefit.doctor.conditions.values import ValuesAt
from surefit.doctor.findings import Finding, Place
from surefit.doctor.observations import Frame, Layer, Value
from surefit.rules.device.tensor_not_moved import RULE
from surefit.source.edits import patched
from surefit.source.reading import Source

SOURCE = Source(
    "train.py",
    """\
class Net(nn.Module):
    def forward(self, x):
        noise = torch.randn(4, 7)
        return x + noise
net = Net()
for x, y in loader:
    x = x.to(device)
    loss = net(x) * y
""",
)
NET = Layer("Net", "", "Net", Place("train.py", 5), own=True)


def after(finding: Finding) -> str:
    edit = finding.fixes[0].edit
    assert edit is not None
    return patched(edit, SOURCE.text)


def test_a_tensor_of_the_batch_is_moved_beside_the_others() -> None:
    result = tensor("net(x)", 1, device="meta")
    frame = own(SOURCE, "net(x) * y", tensor("y", 2), tensor("x", 3, device="meta"))
    chains = {(0, "net(x)"): [("net(x)", result)], (0, "y"): [("loader", tensor("y", 2))]}
    (finding,) = said(RULE, SOURCE, [frame], chains)
    assert finding.place.line == 7
    assert "`y` is on cpu" in finding.headline
    assert "    x = x.to(device)\n    y = y.to(device)\n" in after(finding)
    assert isinstance(finding.fixes[0].must, ValuesAt)


def test_a_tensor_that_forward_creates_is_created_beside_its_neighbours() -> None:
    x, noise = tensor("x", 1, device="meta"), tensor("noise", 2)
    frame = own(
        SOURCE,
        "x + noise",
        x,
        noise,
        function="Net.forward",
        arguments=("self", "x"),
    )
    born = ("torch.randn(4, 7)", noise)
    (finding,) = said(RULE, SOURCE, [frame], {(0, "noise"): [born]})
    assert finding.place.line == 3
    assert "noise = torch.randn(4, 7, device=x.device)\n" in after(finding)


def test_weights_on_the_cpu_that_meet_a_moved_input() -> None:
    x = tensor("x", 1, device="meta")
    frames = [
        own(SOURCE, "net(x)", x, Value("net", "Net", 9, layer=NET)),
        linear(
            tensor("input", 1, device="meta"),
            tensor("self.weight", 5, kind="Parameter"),
            layer=Layer("Linear", "proj", "Net", Place("train.py", 5)),
        ),
    ]
    chains = {(1, "input"): [("x.to(device)", x)]}
    (finding,) = said(RULE, SOURCE, frames, chains)
    assert finding.place.line == 5
    assert "net = Net().to(device)\n" in after(finding)


def test_single_numbers_on_the_cpu_go_with_every_device() -> None:
    number = Value("y", "Tensor", 2, shape=(), dtype="float32", device="cpu")
    frame = own(SOURCE, "x + noise", tensor("x", 1, device="meta"), number)
    assert said(RULE, SOURCE, [frame], {}) == []


def test_tensors_of_one_device_are_silent() -> None:
    frame = own(SOURCE, "x + noise", tensor("x", 1), tensor("noise", 2))
    assert said(RULE, SOURCE, [frame], {}) == []


def test_lengths_of_packed_sequences_stay_on_the_cpu() -> None:
    packing = Frame(
        Place("torch/nn/utils/rnn.py", 337),
        "pack_padded_sequence",
        False,
        expression="_VF._pack_padded_sequence(input, lengths, batch_first)",
        values=(tensor("input", 1, device="meta"), tensor("lengths", 2, "int64")),
    )
    frame = own(SOURCE, "net(x)", tensor("x", 1, device="meta"))
    assert said(RULE, SOURCE, [frame, packing], {}) == []
