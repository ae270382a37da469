"""What is imported before a fork, and when nothing is."""

import sys
from pathlib import Path

import pytest

from surefit.doctor.observations import Chance, Imported, Observation, Process, Script, Trace
from surefit.doctor.recording import Recording
from surefit.observe.launch import Launch
from surefit.observe.preloading import Preload, preload_for, still_fits

TORCH = Imported("torch", "/lib/torch/__init__.py")
DYNAMO = Imported("torch._dynamo", "/lib/torch/_dynamo/__init__.py")
TEXT = '''"""Trains."""
import os, torch.nn as nn
from torch.utils.data import DataLoader
import helper
try:
    from torch import compile
except ImportError:
    import pandas

if os.environ.get("DEBUG") or "CI" in os.environ:
    print(os.environ["HOME"], sys.modules[__name__], nn.Module().modules())
def late():
    from torch import fx
'''


def preload(text: str = TEXT, *more: Observation, command: tuple[str, ...] = ()) -> Preload | None:
    seen = [Script("train.py", text, True), TORCH, DYNAMO, Chance("random", [3, [1], None]), *more]
    words = command or (sys.executable, "train.py", "--lr", "1")
    return preload_for(Launch(words, Path("/work"), "train.py"), Recording(seen))


def test_what_the_script_imports_first_of_libraries_that_were_seen() -> None:
    made = preload()
    assert made is not None
    assert made.imports == (
        "import torch.nn as nn",
        "from torch.utils.data import DataLoader",
        "from torch import compile",
    )
    assert made.parts == ("torch._dynamo",)
    assert (made.script, made.sources) == ("/work/train.py", ("train.py",))
    assert made.random == [3, [1], None]


def test_modules_of_the_users_import_too() -> None:
    made = preload("import helper\n", Script("helper.py", "import torch\n"))
    assert made is not None
    assert (made.imports, made.imports_first) == (("import torch",), False)


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ('"""It."""\nimport os\nimport torch\nx = 1\n', True),
        ("import random\nrandom.seed(0)\nimport torch\n", False),
    ],
)
def test_whether_it_imports_before_it_does_anything(text: str, first: bool) -> None:
    made = preload(text)
    assert made is not None
    assert made.imports_first is first


@pytest.mark.parametrize(
    "line",
    [
        "os.environ['A'] = '1'",
        "os.environ.setdefault('A', '1')",
        "os.environ.update(A='1')",
        "del os.environ['A']",
        "os.putenv('A', '1')",
        "environment = os.environ",
        "os.environ |= {}",
        "from os import environ, putenv",
        "import dotenv; dotenv.load_dotenv()",
        "import threading; threading.Thread(target=print).start()",
        "import sys; sys.settrace(None)",
        "import sys; sys.meta_path.insert(0, None)",
        "import sys; sys.modules['pandas'] = None",
    ],
)
def test_a_script_that_changes_what_imports_find_starts_plainly(line: str) -> None:
    assert preload(f"import os\n{line}\nimport torch\n") is None


def test_other_launches_start_plainly(monkeypatch: pytest.MonkeyPatch) -> None:
    python = sys.executable
    assert preload(command=(python, "train.ipynb")) is None
    assert preload(command=(python, "-m", "train")) is None
    assert preload(command=("/bin/torchrun", "train.py")) is None
    assert preload("import json\n") is None
    assert preload("import torch\n", Trace(Process(1), "connected", "hub:443")) is None
    assert preload("import torch\n", Script("broken.py", "import (")) is None
    assert preload("import torch\n", Script("/elsewhere/mine.py", "import torch")) is None
    monkeypatch.setenv("WORLD_SIZE", "2")
    assert preload() is None


def test_a_patch_can_change_it(tmp_path: Path) -> None:
    made = preload()
    assert made is not None
    (tmp_path / "train.py").write_text(TEXT)
    assert still_fits(made, tmp_path)
    (tmp_path / "train.py").write_text("import os\nos.environ['A'] = '1'\n" + TEXT)
    assert not still_fits(made, tmp_path)
