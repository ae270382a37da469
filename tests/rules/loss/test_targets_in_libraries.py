"""Labels that a model of a library computes its loss from: the line that builds them is named."""

import ast
import sys
from pathlib import Path
from textwrap import indent

import pytest

from forked import forking
from surefit.examination import examine
from surefit.laws.losses.built_targets import moved_by_one
from surefit.observe.script import Launch
from surefit.source.edits import patched
from surefit.source.reading import Source

SCRIPT = """
import torch
from torch.utils.data import DataLoader
from transformers import GPT2Config, GPT2LMHeadModel

torch.manual_seed(0)
SIZE = 12
START, STEP = torch.randint(0, 19, (128,)), torch.randint(1, 5, (128,))


class Rows(torch.utils.data.Dataset):
    def __len__(self):
        return 128

    def __getitem__(self, i):
        length = SIZE if {full} else 5 + i % 7
        ids = (START[i] + STEP[i] * torch.arange(length)) % 19 + 1
        ids = torch.cat([ids, torch.zeros(SIZE - length, dtype=torch.long)])
{body}
        return {{"input_ids": ids, "attention_mask": (ids > 0).long(), "labels": labels}}


config = GPT2Config(
    vocab_size=24, n_positions=SIZE, n_embd=16, n_layer=1, n_head=2, pad_token_id=0,
    bos_token_id=22, eos_token_id=23,
)
model = GPT2LMHeadModel(config)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
for epoch in range(2):
    for batch in DataLoader(Rows(), batch_size=16, shuffle=True):
        loss = model(**batch).loss
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
"""
SHIFTED, PADDED = "labels-shifted-twice", "padding-in-the-loss"
BUILT = {
    "joined": (SHIFTED, "labels = torch.cat([ids[1:], ids.new_tensor([-100])])", "ids.clone()"),
    "put in": (SHIFTED, "labels = torch.full_like(ids, -100)\nlabels[:-1] = ids[1:]", "[:] = ids"),
    "padded": (PADDED, "labels = ids.clone()", ".masked_fill("),
}


@pytest.mark.parametrize(
    "text", ["ids[1:]", "ids[:, 1:]", "ids.roll(-1)", "torch.roll(ids, shifts=-1)"]
)
def test_what_is_moved_by_one(text: str) -> None:
    source = Source("train.py", text)
    base = moved_by_one(source, next(source.every(ast.Expr)).value)
    assert base is not None
    assert source.segment(base) == "ids"


@pytest.mark.slow
@pytest.mark.parametrize("built", BUILT)
def test_the_line_that_builds_the_labels(built: str, tmp_path: Path) -> None:
    rule, body, mended = BUILT[built]
    text = SCRIPT.format(body=indent(body, " " * 8), full=rule == SHIFTED)
    (tmp_path / "train.py").write_text(text)
    launch = Launch(command=(sys.executable, "train.py"), cwd=tmp_path)
    with forking():
        found = examine(launch, prove_fixes=False).findings
    assert [finding.rule for finding in found] == [rule]
    marked = body.splitlines()[-1 if built == "put in" else 0]
    assert text.splitlines()[(found[0].place.line or 0) - 1].strip() == marked
    edits = [fix.edit for fix in found[0].fixes if fix.edit is not None]
    assert any(mended in patched(edit, text) for edit in edits)
