"""What is advised where a package is missing, for every way in which surefit can be installed."""

import json
from importlib.metadata import PathDistribution
from pathlib import Path

import pytest

from surefit.cli import missing_package
from surefit.installing import install_command

METADATA = """\
Metadata-Version: 2.3
Name: surefit
Version: 0.1.0
Provides-Extra: train
Requires-Dist: rich>=13.7
Requires-Dist: torch>=2.6; extra == 'train'
Requires-Dist: peft>=0.17; extra == 'train'
Requires-Dist: gguf>=0.14; extra == 'gguf'
"""


def installed(folder: Path, noted: dict[str, object] | None) -> PathDistribution:
    """A `surefit` as pip leaves it behind."""
    info = folder / "surefit-0.1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(METADATA)
    if noted is not None:
        (info / "direct_url.json").write_text(json.dumps(noted))
    return PathDistribution(info)


def test_an_index(tmp_path: Path) -> None:
    assert install_command("train", installed(tmp_path, None)) == 'pip install "surefit[train]"'


@pytest.mark.parametrize(("editable", "flag"), [(True, "-e "), (False, "")])
def test_a_clone(editable: bool, flag: str, tmp_path: Path) -> None:
    clone = tmp_path / "a clone"
    clone.mkdir()
    (clone / "pyproject.toml").touch()
    noted: dict[str, object] = {"url": clone.as_uri(), "dir_info": {"editable": editable}}
    advised = install_command("train", installed(tmp_path, noted))
    assert advised == f'pip install {flag}"{clone}[train]"'


def test_a_wheel_and_what_is_gone(tmp_path: Path) -> None:
    wheel = tmp_path / "surefit-0.1.0-py3-none-any.whl"
    wheel.touch()
    surefit = installed(tmp_path, {"url": wheel.as_uri(), "archive_info": {}})
    assert install_command("gguf", surefit) == f'pip install "{wheel}[gguf]"'
    wheel.unlink()
    assert install_command("train", surefit) == 'pip install "torch>=2.6" "peft>=0.17"'


@pytest.mark.parametrize(
    ("noted", "source"),
    [
        ({"url": "https://x.org/surefit.whl", "archive_info": {}}, "https://x.org/surefit.whl"),
        (
            {"url": "https://x.org/surefit", "vcs_info": {"vcs": "git", "commit_id": "abc1"}},
            "git+https://x.org/surefit@abc1",
        ),
    ],
)
def test_an_address(noted: dict[str, object], source: str, tmp_path: Path) -> None:
    advised = install_command("train", installed(tmp_path, noted))
    assert advised == f'pip install "surefit[train] @ {source}"'


def test_this_clone_is_what_a_missing_package_is_installed_from(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    clone = tmp_path / "clone"
    clone.mkdir()
    (clone / "pyproject.toml").touch()
    noted: dict[str, object] = {"url": clone.as_uri(), "dir_info": {"editable": True}}
    surefit = installed(tmp_path, noted)
    monkeypatch.setattr("surefit.installing.distribution", lambda _: surefit)
    (fix,) = missing_package("rensa", ImportError("No module named 'rensa'")).fixes
    assert fix.text == f'pip install -e "{clone}[train]"'
