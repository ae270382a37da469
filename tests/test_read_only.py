"""What `surefit lint` says of the cases: the rule by its name, and nothing of the mended ones."""

import re
from pathlib import Path

import pytest

from surefit.doctor.diagnose import look
from surefit.doctor.observations import Script
from surefit.doctor.recording import Recording
from surefit.linting import lint_file

CASES = Path(__file__).parent / "cases"
NOT_THE_LINE_OF_A_RUN = {"logit-widths", "skip-of-another-size"}
"""A run tells the line that chose the size; the source alone where the two sizes meet."""
NAMED = (
    "adapter-targets-missing",
    "checkpoint-needs-unpickling",
    "checkpoint-of-a-frozen-input",
    "checkpoint-of-another-model",
    "checkpoint-of-other-sizes",
    "dtype-of-another-kind",
    "frozen-parameters-to-train",
    "gradient-that-is-none",
    "graph-made-before-the-loop",
    "graph-used-by-two-losses",
    "ids-beyond-the-table",
    "inference-tensor-in-training",
    "joined-widths-differ",
    "key-not-saved",
    "leaf-changed-in-place",
    "logit-widths",
    "loss-cut-from-the-model",
    "loss-is-no-scalar",
    "mask-lacks-axes",
    "needed-value-overwritten",
    "optimizer-of-other-parameters",
    "optimizer-state-misplaced",
    "padding-outside-the-table",
    "pictures-in-another-layout",
    "positions-beyond-the-table",
    "product-does-not-fit",
    "reshape-does-not-fit",
    "skip-of-another-size",
    "state-carried-without-detach",
    "state-dict-prefix",
    "step-before-backward",
    "tensor-not-moved",
    "token-types-beyond-the-table",
    "training-without-recording",
    "unregistered-buffer",
    "view-of-a-slice",
    "whole-checkpoint-loaded",
    "width-not-divisible",
)


@pytest.mark.parametrize("name", NAMED)
def test_a_fault_is_named_by_reading_alone(name: str) -> None:
    folder = CASES / name
    linted = lint_file(folder / "bad.py", folder)
    found = linted.findings
    assert linted.faults == ()
    assert [one.rule for one in found] == [name]
    said = (folder / "diagnosis.txt").read_text(encoding="utf-8")
    line = re.search(r"bad\.py:(\d+) ── SF", said)
    assert line is not None
    if name not in NOT_THE_LINE_OF_A_RUN:
        assert found[0].place.line == int(line[1])
    assert all(fix.proof is not None and fix.proof.status == "not-tried" for fix in found[0].fixes)


@pytest.mark.parametrize("name", sorted(one.name for one in CASES.iterdir() if one.is_dir()))
def test_nothing_is_said_of_a_mended_case(name: str) -> None:
    folder = CASES / name
    if (folder / "good.py").is_file():
        linted = lint_file(folder / "good.py", folder)
        assert (linted.findings, linted.faults) == ((), ())


OTHER = {
    "pictures of another size": (
        "feature-width-mismatch",
        "self.fc1(x)",
        """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.c1 = nn.Conv2d(3, 6, 5)
        self.pool = nn.MaxPool2d(2, 2)
        self.c2 = nn.Conv2d(6, 16, 5)
        self.fc1 = nn.Linear(16 * 5 * 5, 120)
        self.fc2 = nn.Linear(120, 10)

    def forward(self, x):
        x = self.pool(F.relu(self.c1(x)))
        x = self.pool(F.relu(self.c2(x)))
        x = torch.flatten(x, 1)
        return self.fc2(F.relu(self.fc1(x)))


net = Net()
for x, y in DataLoader(
    TensorDataset(torch.rand(20, 3, 64, 64), torch.randint(0, 10, (20,))), batch_size=4
):
    F.cross_entropy(net(x), y).backward()
""",
    ),
    "a config from a dict": (
        "width-not-divisible",
        "n_head=12",
        """
from transformers import GPT2Config, GPT2LMHeadModel

CFG = dict(n_embd=100, n_head=12)
model = GPT2LMHeadModel(GPT2Config(vocab_size=50, **CFG))
""",
    ),
    "heads that defaults give": (
        "width-not-divisible",
        "heads=4",
        """
class B(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.a = nn.MultiheadAttention(dim, heads)


class M(nn.Module):
    def __init__(self, dim=130, heads=4, depth=2):
        super().__init__()
        self.b = nn.ModuleList([B(dim, heads) for _ in range(depth)])


M()
""",
    ),
    "a block that widens and adds its input": (
        "joined-widths-differ",
        "x + self.c2",
        """
class R(nn.Module):
    def __init__(self, i, o):
        super().__init__()
        self.c1 = nn.Conv2d(i, o, 3, padding=1)
        self.c2 = nn.Conv2d(o, o, 3, padding=1)

    def forward(self, x):
        return F.relu(x + self.c2(F.relu(self.c1(x))))


net = nn.Sequential(nn.Conv2d(3, 16, 3, padding=1), R(16, 16), R(16, 32))
net(torch.rand(2, 3, 8, 8))
""",
    ),
    "a state that the model keeps": (
        "state-carried-without-detach",
        "out, self.h =",
        """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.l = nn.LSTM(4, 8, batch_first=True)
        self.o = nn.Linear(8, 1)
        self.h = None

    def forward(self, x):
        out, self.h = self.l(x, self.h)
        return self.o(out)


net = Net()
opt = torch.optim.Adam(net.parameters())
for epoch in range(3):
    for x, y in DataLoader(
        TensorDataset(torch.rand(20, 5, 4), torch.rand(20, 5, 1)), batch_size=4
    ):
        loss = F.mse_loss(net(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
""",
    ),
    "a forward pass without recording": (
        "training-without-recording",
        "@torch.no_grad()",
        """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc = nn.Linear(4, 8)
        self.head = nn.Linear(8, 2)

    def encode(self, x):
        with torch.no_grad():
            return self.enc(x)

    @torch.no_grad()
    def forward(self, x):
        return self.head(self.encode(x))


class Trainer:
    def __init__(self, model):
        self.model = model
        self.opt = torch.optim.SGD(model.parameters(), lr=0.1)

    def step(self, x, y):
        loss = F.cross_entropy(self.model(x), y)
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()


t = Trainer(Net())
for _ in range(3):
    t.step(torch.randn(4, 4), torch.randint(0, 2, (4,)))
""",
    ),
    "a loss of choices": (
        "loss-cut-from-the-model",
        "argmax",
        """
m = nn.Linear(4, 3)
pred = m(torch.randn(5, 4)).argmax(dim=1).float()
loss = F.mse_loss(pred, torch.rand(5))
loss.backward()
""",
    ),
    "a model that is frozen whole": (
        "frozen-parameters-to-train",
        "m.requires_grad_(False)",
        """
m = nn.Sequential(nn.Linear(4, 3), nn.ReLU(), nn.Linear(3, 2))
m.requires_grad_(False)
opt = torch.optim.SGD(m.parameters(), lr=0.1)
for _ in range(3):
    loss = m(torch.randn(5, 4)).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
""",
    ),
    "rows that stay behind": (
        "tensor-not-moved",
        "F.cross_entropy(m(x), y)",
        """
device = torch.device("cuda")
m = nn.Linear(4, 2).to(device)
x, y = torch.randn(5, 4), torch.randint(0, 2, (5,)).to(device)
F.cross_entropy(m(x), y)
""",
    ),
    "a wrapper's names in one entry of a checkpoint": (
        "state-dict-prefix",
        "net.load_state_dict",
        """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(3, 2)

    def forward(self, x):
        return self.a(x)


CK = "out.pt"


def train():
    net = nn.DataParallel(Net()).cuda()
    torch.save({"epoch": 1, "state": net.state_dict()}, CK)


def test():
    net = Net()
    net.load_state_dict(torch.load(CK, map_location="cpu")["state"])


train()
test()
""",
    ),
    "rows longer than the table": (
        "positions-beyond-the-table",
        "n=16",
        """
class P(nn.Module):
    def __init__(self, n=16, d=8):
        super().__init__()
        self.pos = nn.Embedding(n, d)
        self.tok = nn.Embedding(100, d)

    def forward(self, ids):
        return self.tok(ids) + self.pos(torch.arange(ids.size(1)))


P()(torch.randint(0, 100, (2, 20)))
""",
    ),
    "a teacher with more classes": (
        "logit-widths",
        "kl(F.log_softmax",
        """
t = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 12))
s = nn.Linear(4, 10)
kl = nn.KLDivLoss(reduction="batchmean")
x = torch.randn(6, 4)
kl(F.log_softmax(s(x), 1), F.softmax(t(x), 1))
""",
    ),
}
"""The rule, part of the line that it names, and a script written in another way than its case."""
IMPORTS = """
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset
"""


@pytest.mark.parametrize(("rule", "line", "text"), OTHER.values(), ids=OTHER.keys())
def test_a_fault_in_another_script(rule: str, line: str, text: str) -> None:
    script = Script("train.py", IMPORTS + text)
    (finding,) = look(Recording([script])).findings
    assert finding.rule == rule
    assert line in script.text.splitlines()[(finding.place.line or 0) - 1]
