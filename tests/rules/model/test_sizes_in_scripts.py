"""Sizes that do not fit in whole scripts: the line where each was chosen, as a second run tells."""

import sys
from dataclasses import dataclass
from pathlib import Path
from textwrap import dedent

import pytest

from forked import forking
from surefit.doctor.findings import Finding
from surefit.examination import examine
from surefit.observe.script import Launch
from surefit.source.edits import patched

IMPORTS = "import torch\nfrom torch import nn\nfrom torch.nn import functional as F\n"


@dataclass(frozen=True)
class Faulty:
    """A script that fails, the rule and the line that must be named, and a line of a fix."""

    rule: str
    text: str
    marked: str
    """Part of the line to name."""
    mended: str
    """Part of the source after one of the fixes."""


JOINED_BY_A_CALLER = Faulty(
    "joined-widths-differ",
    """
    class Head(nn.Module):
        def __init__(self, width, out):
            super().__init__()
            self.layer = nn.Linear(width, out)
        def forward(self, x):
            return self.layer(x)
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.words = nn.Embedding(50, 24)
            self.sounds = Head(12, 20)
        def forward(self, ids, sounds):
            return torch.cat([self.sounds(sounds), self.words(ids)], dim=1)
    Net()(torch.zeros(4, 5).long(), torch.rand(4, 7, 12))
    """,
    "Head(12, 20)",
    "Head(12, 24)",
)
BRANCHES_OF_A_LIST = Faulty(
    "joined-widths-differ",
    """
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.first = nn.Linear(8, 16)
            self.second = nn.Linear(8, 16)
            self.third = nn.Linear(8, 12)
        def forward(self, x):
            branches = [self.first(x), self.second(x), self.third(x)]
            return torch.cat(branches).mean(0)
    Net()(torch.rand(4, 8))
    """,
    "nn.Linear(8, 12)",
    "nn.Linear(8, 16)\n    def forward",
)
SETTING_OF_ANOTHER_WIDTH = Faulty(
    "feature-width-mismatch",
    """
    def encoder(width):
        return nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(width, 3))
    net = encoder(width=48)
    net(torch.rand(4, 10))
    """,
    "encoder(width=48)",
    "encoder(width=32)",
)
SWAPPED_AXES = Faulty(
    "feature-width-mismatch",
    """
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.words = nn.Embedding(50, 24)
            self.look = nn.Conv1d(24, 8, 3)
        def forward(self, ids):
            hidden = self.words(ids)
            return self.look(hidden)
    Net()(torch.zeros(4, 9).long())
    """,
    "self.look(hidden)",
    "self.look(hidden.transpose(1, 2))",
)
AVERAGED_STEPS = Faulty(
    "wrong-number-of-axes",
    """
    read = nn.LSTM(6, 8, batch_first=True)
    clips = torch.rand(4, 10, 6, 5)
    steps = clips.mean(dim=(1, 3), keepdim=False)
    hidden = steps.unsqueeze(0).unsqueeze(0)
    read(hidden)
    """,
    "steps.unsqueeze(0).unsqueeze(0)",
    "hidden = steps.unsqueeze(0)\n",
)
SQUEEZED_ROW = Faulty(
    "wrong-number-of-axes",
    """
    norm = nn.BatchNorm2d(3)
    pictures = torch.rand(1, 3, 8, 8)
    norm(pictures.squeeze())
    """,
    "pictures.squeeze()",
    "norm(pictures)",
)
GREY_PICTURES = Faulty(
    "pictures-in-another-layout",
    """
    from torch.utils.data import DataLoader, TensorDataset
    pictures = torch.rand(12, 9, 7)
    look = nn.Conv2d(1, 4, 3)
    for (batch,) in DataLoader(TensorDataset(pictures / 2), batch_size=4):
        look(batch)
    """,
    "torch.rand(12, 9, 7)",
    "torch.rand(12, 9, 7).unsqueeze(1)",
)
ODD_LENGTH = Faulty(
    "skip-of-another-size",
    """
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.down = nn.Conv1d(4, 8, 4, stride=2, padding=1)
            self.up = nn.ConvTranspose1d(8, 4, 4, stride=2, padding=1)
        def forward(self, x):
            grown = self.up(self.down(x))
            return x + grown
    LENGTH = 45
    Net()(torch.rand(2, 4, LENGTH))
    """,
    "LENGTH = 45",
    "LENGTH = 44",
)
HEADS_OF_A_CONFIG = Faulty(
    "width-not-divisible",
    """
    CONFIG = {"width": 50, "heads": 4}
    def attention(config):
        return nn.MultiheadAttention(config["width"], config["heads"])
    attention(CONFIG)
    """,
    'CONFIG = {"width": 50',
    '"heads": 5',
)
TURNED_FAR_AWAY = Faulty(
    "view-of-a-slice",
    """
    def swap(x):
        return x.transpose(0, 1)
    scores = swap(torch.rand(6, 4)) * 2
    flat = scores[:2].view(-1)
    """,
    "scores[:2].view(-1)",
    "scores[:2].reshape(-1)",
)
EVERY = {name: value for name, value in globals().items() if isinstance(value, Faulty)}


@pytest.mark.slow
@pytest.mark.parametrize("name", EVERY)
def test_the_line_and_a_fix(name: str, tmp_path: Path) -> None:
    faulty = EVERY[name]
    text = IMPORTS + dedent(faulty.text)
    (finding,) = findings_of(text, tmp_path)
    assert finding.rule == faulty.rule
    named = text.splitlines()[(finding.place.line or 0) - 1]
    assert faulty.marked in named
    mended = [patched(fix.edit, text) for fix in finding.fixes if fix.edit is not None]
    assert any(faulty.mended in after for after in mended)


def findings_of(text: str, folder: Path) -> tuple[Finding, ...]:
    (folder / "train.py").write_text(text, encoding="utf-8")
    launch = Launch(command=(sys.executable, "train.py"), cwd=folder)
    with forking():
        examination = examine(launch, prove_fixes=False)
    assert examination.faults == ()
    return examination.findings
