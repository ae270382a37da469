"""In generated programs a lineage names exactly the expressions that a value came through."""

import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recorded_lineage import recording, run

HEAD = """
import numpy as np
import pandas as pd
import torch
from datasets import Dataset, disable_caching, disable_progress_bars
from torch.utils.data import DataLoader, TensorDataset
disable_caching()
disable_progress_bars()
others = [[1, 2, 4], [8, 16, 32]]
"""


@dataclass
class Program:
    """Source so far, the name that holds the marked list, and what that came through."""

    lines: list[str] = field(default_factory=list)
    name: str = "v0"
    through: set[str] = field(default_factory=set)
    numbers: "count[int]" = field(default_factory=lambda: count(1))

    def add(self, text: str, *through: str) -> None:
        """`{v}`: the marked name; `{n}`: a new number; `{w}`: the name that holds it now."""
        number = next(self.numbers)
        names = {"v": self.name, "n": number, "w": f"v{number}", "k": 100 + number}
        self.lines += text.format(**names).splitlines()
        self.through |= {one.format(**names) for one in through}
        if "{w}" in text:
            self.name = names["w"]  # type: ignore[assignment]


MORE = ("[{k}]", "{k}")
STEPS: dict[str, Callable[[Program], None]] = {
    "rename": lambda p: p.add("{w} = {v}"),
    "operator": lambda p: p.add("{w} = {v} + [{k}]", "{v} + [{k}]", *MORE),
    "slice": lambda p: p.add("{w} = {v}[:]", "{v}[:]"),
    "function": lambda p: p.add(
        "def f{n}(other, x):\n    y = x + [{k}]\n    return y\n{w} = f{n}(others, {v})",
        "x + [{k}]",
        "f{n}(others, {v})",
        *MORE,
    ),
    "keyword and default": lambda p: p.add(
        "def f{n}(x, more=[{k}], *rest):\n    return x + more\n{w} = f{n}(x={v})",
        "x + more",
        "f{n}(x={v})",
        *MORE,
    ),
    "recursion": lambda p: p.add(
        "def f{n}(x, depth):\n    return x if not depth else f{n}(x, depth - 1)\n"
        "{w} = f{n}({v}, 3)",
        "f{n}({v}, 3)",
        "f{n}(x, depth - 1)",
        "x if not depth else f{n}(x, depth - 1)",
    ),
    "closure": lambda p: p.add(
        "def f{n}(x):\n    def inner():\n        return x + [{k}]\n    return inner\n"
        "{w} = f{n}({v})()",
        "x + [{k}]",
        "f{n}({v})()",
        *MORE,
    ),
    "lambda": lambda p: p.add("{w} = (lambda x: x + [{k}])({v})", "x + [{k}]",
                              "(lambda x: x + [{k}])({v})", *MORE),
    "attribute": lambda p: p.add(
        "class C{n}:\n    def __init__(self, x):\n        self.other, self.x = others, 0\n"
        "        self.x = x\n{w} = C{n}({v}).x"
    ),
    "method": lambda p: p.add(
        "class C{n}:\n    def __init__(self, x):\n        self.x = x\n"
        "    def get(self):\n        return self.x + [{k}]\nc = C{n}({v})\n{w} = c.get()",
        "self.x + [{k}]",
        "c.get()",
        *MORE,
    ),
    "dict": lambda p: p.add('row = {{"other": others[0], "mark": {v}}}\n{w} = row["mark"]'),
    "tuple": lambda p: p.add("(a, {w}), b = ([1, 3], {v}), 5"),
    "returned tuple": lambda p: p.add(
        "def f{n}(x):\n    return [5, 6], x\nleft, {w} = f{n}({v})"
    ),
    "list": lambda p: p.add("box = [others[0]]\nbox.append({v})\nbox.append([3])\n{w} = box[1]"),
    "loop": lambda p: p.add("for {w} in (others[0], {v}):\n    pass"),
    "enumerate": lambda p: p.add("for i, {w} in enumerate([others[1], {v}]):\n    pass"),
    "generator": lambda p: p.add(
        "def f{n}(x):\n    yield [9, 8]\n    yield x + [{k}]\nfor {w} in f{n}({v}):\n    pass",
        "x + [{k}]",
        *MORE,
    ),
    "append": lambda p: p.add("{v}.append({k})", "{v}.append({k})", "{k}"),
    "extend in a function": lambda p: p.add(
        "def f{n}(x):\n    x.extend([{k}])\nf{n}({v})", "x.extend([{k}])", *MORE
    ),
    "item": lambda p: p.add("{v}[0] = {k}", "{v}[0] = {k}", "{k}"),
    "augmented": lambda p: p.add("{v} += [{k}]", "{v} += [{k}]", *MORE),
    "augmented attribute": lambda p: p.add(
        "class C{n}: pass\nc = C{n}()\nc.x = {v}\nc.x += [{k}]\n{w} = c.x", *MORE, "c.x += [{k}]",
    ),
    "walrus": lambda p: p.add("if ({w} := {v} + [{k}]):\n    pass", "{v} + [{k}]", *MORE),
    "condition": lambda p: p.add("{w} = {v} if others else [0]", "{v} if others else [0]"),
    "numpy": lambda p: p.add("{w} = np.array({v}).tolist()", "np.array({v}).tolist()",
                             "np.array({v})"),
    "torch": lambda p: p.add("{w} = torch.tensor({v}).tolist()", "torch.tensor({v}).tolist()",
                             "torch.tensor({v})"),
    "pandas": lambda p: p.add(
        'frame = pd.DataFrame({{"mark": {v}}})\n{w} = frame["mark"].to_list()',
        'frame["mark"].to_list()',
        'frame["mark"]',
        'pd.DataFrame({{"mark": {v}}})',
        '{{"mark": {v}}}',
    ),
    "loader": lambda p: p.add(
        "whole = torch.tensor([{v}, {v}])\nfor (b{n},) in DataLoader(TensorDataset(whole), 2):\n"
        "    {w} = b{n}[1].tolist()",
        "b{n}[1].tolist()",
        "b{n}[1]",
        "torch.tensor([{v}, {v}])",
        "[{v}, {v}]",
    ),
}  # fmt: skip
SLOW_STEPS: dict[str, Callable[[Program], None]] = {
    "map": lambda p: p.add(
        "met = []\ndef f{n}(row):\n    met.append(row['mark'])\n    return row\n"
        'Dataset.from_list([{{"mark": [5, 1], "k": 1}}, {{"mark": {v}, "k": 2}}]).map(f{n})\n'
        "{w} = met[-1]",
        "row['mark']",
    ),
}


def check(steps: list[str]) -> None:
    program = Program()
    program.lines = ["v0 = [7919, 3, 5]"]
    program.through = {"[7919, 3, 5]", "7919", "3", "5"}
    for step in steps:
        (STEPS | SLOW_STEPS)[step](program)
    source = HEAD + "\n".join([*program.lines, f"ask({program.name})"])
    with recording() as kept, tempfile.TemporaryDirectory() as folder:
        names = run(source, Path(folder), kept)
    found = {one.text for one in names["asked"][0].producers}
    assert found == program.through, source


@pytest.mark.parametrize("step", STEPS)
def test_each_step_alone(step: str) -> None:
    check([step])


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(st.lists(st.sampled_from(sorted(STEPS)), min_size=2, max_size=8))
def test_steps_one_after_another(steps: list[str]) -> None:
    check(steps)


@pytest.mark.slow
@settings(max_examples=15, deadline=None)
@given(
    st.lists(st.sampled_from(["operator", "dict", "append", "method"]), max_size=3),
    st.lists(st.sampled_from(["operator", "attribute", "numpy"]), max_size=2),
)
def test_rows_through_a_table(before: list[str], after: list[str]) -> None:
    check([*before, "map", *after])
