"""Environments of peers that surefit does not depend on, made with pip below `.venv-peers`.

Behind what is installed there stands all of this environment, torch too: it is not taken twice.
"""

import subprocess
import sys
import sysconfig
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).parents[2] / ".venv-peers"


@dataclass(frozen=True, slots=True)
class Environment:
    """A peer, and those of the packages it asks for that it really needs: others bring another
    torch, CUDA, or every cloud's tools."""

    name: str
    packages: tuple[str, ...]
    benchmark: str = "loading"

    @property
    def folder(self) -> Path:
        return FOLDER / f"{self.benchmark}-{self.name}"

    @property
    def python(self) -> Path:
        return self.folder / "bin" / "python"

    @property
    def made(self) -> Path:
        """A file that is there once all is installed."""
        return self.folder / "made"


LITDATA = Environment(
    "litdata",
    (
        "litdata==0.2.76",
        "tensordict==0.15.3",
        "boto3",
        "botocore",
        "jmespath",
        "lightning-utilities",
        "obstore",
        "python-dateutil",
        "pyvers",
        "s3transfer",
        "six",
        "tifffile",
    ),
)
STREAMING = Environment(
    "streaming",
    (
        "mosaicml-streaming==0.13.0",
        "boto3",
        "botocore",
        "Brotli",
        "catalogue",
        "jmespath",
        "python-dateutil",
        "python-snappy",
        "cramjam",
        "s3transfer",
        "six",
        "xxhash",
        "zstd",
    ),
)
ENVIRONMENTS = (LITDATA, STREAMING)


def make(environment: Environment) -> None:
    if environment.made.exists():
        print(f"{environment.folder} is there", flush=True)
        return
    print(f"Making {environment.folder}", flush=True)
    subprocess.run([sys.executable, "-m", "venv", str(environment.folder)], check=True)
    behind = f"import site; site.addsitedir({sysconfig.get_path('purelib')!r})\n"
    ask = "import sysconfig; print(sysconfig.get_path('purelib'))"
    asked = [str(environment.python), "-c", ask]
    where = subprocess.run(asked, check=True, capture_output=True, text=True).stdout.strip()
    (Path(where) / "behind.pth").write_text(behind)
    install = [str(environment.python), "-m", "pip", "install", "--quiet", "--no-deps"]
    subprocess.run([*install, *environment.packages], check=True)
    environment.made.touch()
