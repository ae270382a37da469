"""What installed libraries hold and take, by their source alone."""

from pathlib import Path

import pytest

from surefit.source import installed

FILES = {
    "__init__.py": """
from .tools import *
from .deep import Trainer as Trainer, Settings
from .gone import *
""",
    "tools.py": """
def plain(a, *, b=1):
    pass


def any_name(a, **more):
    pass


@changed
def decorated(a):
    pass
""",
    "deep.py": '''
from dataclasses import dataclass
from .tools import plain


@dataclass
class Base:
    """Text that
stands at the edge."""

    first: int = 1


@dataclass
class Settings(Base):
    second: int = 2


class Trainer:
    def __init__(self, model, rows):
        pass

    @classmethod
    def load(cls, path):
        pass


class Later(Trainer):
    pass


class Odd(Trainer, metaclass=Meta):
    pass
''',
    "gone.py": "def __getattr__(name):\n    return name\n",
}


@pytest.fixture
def library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "strange_library"
    folder.mkdir()
    for name, text in FILES.items():
        (folder / name).write_text(text)
    monkeypatch.syspath_prepend(str(tmp_path))
    for one in (
        installed.arguments_taken,
        installed.find,
        installed.has_name,
        installed.read_module,
        installed.spec_of,
    ):
        one.cache_clear()


@pytest.mark.parametrize(
    ("name", "takes"),
    [
        ("plain", {"a", "b"}),
        ("any_name", None),
        ("decorated", None),
        ("nothing", None),
        ("Settings", {"first", "second"}),
        ("Trainer", {"model", "rows"}),
        ("Trainer.load", {"path"}),
        ("deep.Later", {"model", "rows"}),
        ("deep.Odd", None),
    ],
)
@pytest.mark.usefixtures("library")
def test_what_a_function_takes(name: str, takes: set[str] | None) -> None:
    assert installed.arguments_taken(f"strange_library.{name}") == takes


@pytest.mark.parametrize(
    ("owner", "name", "there"),
    [
        ("strange_library", "Trainer", True),
        ("strange_library", "plain", True),
        ("strange_library", "deep", True),
        ("strange_library", "other", None),
        ("strange_library.tools", "other", False),
        ("no_library", "other", None),
        ("re", "other", None),
    ],
)
@pytest.mark.usefixtures("library")
def test_which_names_there_are(owner: str, name: str, there: bool | None) -> None:
    assert installed.has_name(owner, name) is there


@pytest.mark.usefixtures("library")
def test_a_file_of_the_same_name_comes_first(tmp_path: Path) -> None:
    script = tmp_path / "own" / "train.py"
    script.parent.mkdir()
    assert not installed.is_shadowed("strange_library", str(script))
    (script.parent / "strange_library.py").write_text("")
    installed.is_shadowed.cache_clear()
    assert installed.is_shadowed("strange_library", str(script))
