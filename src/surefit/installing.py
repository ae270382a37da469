"""How more of surefit is installed, from where this one was installed."""

import json
import re
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

PACKAGE = "surefit"


def install_command(extra: str, installed: Distribution | None = None) -> str:
    """What brings the packages of an extra: from the clone or file or address that surefit came
    from, from an index where it came from one; by their own names where its source is gone."""
    try:
        installed = installed or distribution(PACKAGE)
    except PackageNotFoundError:
        return from_folder(Path(__file__).resolve().parents[2], extra, editable=True) or by_name(
            extra, None
        )
    noted = installed.read_text("direct_url.json")
    if noted is None:
        return f'pip install "{PACKAGE}[{extra}]"'
    return from_address(json.loads(noted), extra) or by_name(extra, installed)


def from_address(noted: dict[str, Any], extra: str) -> str | None:
    """By what pip notes of a package that came from no index (PEP 610); None if it is gone."""
    address = str(noted["url"])
    if "vcs_info" in noted:
        source = noted["vcs_info"]
        at = source.get("requested_revision") or source["commit_id"]
        return f'pip install "{PACKAGE}[{extra}] @ {source["vcs"]}+{address}@{at}"'
    if urlsplit(address).scheme != "file":
        return f'pip install "{PACKAGE}[{extra}] @ {address}"'
    path = Path(unquote(urlsplit(address).path))
    if "dir_info" in noted:
        return from_folder(path, extra, editable=bool(noted["dir_info"].get("editable")))
    return f'pip install "{path}[{extra}]"' if path.is_file() else None


def from_folder(path: Path, extra: str, *, editable: bool) -> str | None:
    if not (path / "pyproject.toml").is_file():
        return None
    return f'pip install {"-e " if editable else ""}"{path}[{extra}]"'


def by_name(extra: str, installed: Distribution | None) -> str:
    """The packages themselves, as the extra asks for them."""
    needed = (line.partition(";") for line in (installed and installed.requires) or ())
    wanted = re.compile(rf"""extra\s*==\s*['"]{re.escape(extra)}['"]""")
    named = [name.strip() for name, _, condition in needed if wanted.search(condition)]
    if not named:
        return f'pip install "{PACKAGE}[{extra}]"'
    return "pip install " + " ".join(f'"{name}"' for name in named)
