"""Environments of peers whose versions clash with surefit's, made with pip below `.venv-peers`."""

import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).parents[2] / ".venv-peers"
TORCH = "torch==2.13.0"


@dataclass(frozen=True, slots=True)
class Peer:
    """A package at one version, and which of the packages that it asks for stay away."""

    name: str
    version: str
    left_out: tuple[str, ...]
    """They ask for another torch or for CUDA, or serve what is not measured."""

    @property
    def folder(self) -> Path:
        return FOLDER / self.name

    @property
    def python(self) -> Path:
        return self.folder / "bin" / "python"

    @property
    def made(self) -> Path:
        """A file that is there once all is installed."""
        return self.folder / f"{self.name}-{self.version}"


LLAMAFACTORY = Peer("llamafactory", "0.9.5", ("torch", "torchaudio", "torchvision"))
AXOLOTL = Peer(
    "axolotl",
    "0.19.0",
    (
        "fla-core",
        "flash-linear-attention",
        "liger-kernel",
        "lm_eval",
        "modal",
        "torch",
        "torchao",
        "xformers",
    ),
)
PEERS = (LLAMAFACTORY, AXOLOTL)

ASKED = """
from importlib.metadata import requires
print("\\n".join(line for line in requires({name!r}) if "extra ==" not in line))
"""


def make_environment(peer: Peer) -> None:
    """torch first and held, then the peer without dependencies, then those that it can use."""
    if peer.made.exists():
        print(f"{peer.name} {peer.version} is there: {peer.folder}", flush=True)
        return
    print(f"Making {peer.folder} without {', '.join(peer.left_out)}; pip says so", flush=True)
    subprocess.run([sys.executable, "-m", "venv", str(peer.folder)], check=True)
    held = peer.folder / "held.txt"
    held.write_text(f"{TORCH}\n", encoding="ascii")
    install(peer, "--upgrade", "pip")
    install(peer, TORCH)
    install(peer, "--no-deps", f"{peer.name}=={peer.version}")
    install(peer, "--constraint", str(held), *wanted(peer))
    peer.made.touch()


def install(peer: Peer, *packages: str) -> None:
    command = [str(peer.python), "-m", "pip", "install", "--quiet", *packages]
    subprocess.run(command, check=True, env=os.environ)


def wanted(peer: Peer) -> list[str]:
    asked = subprocess.run(
        [str(peer.python), "-c", ASKED.format(name=peer.name)],
        check=True,
        capture_output=True,
        text=True,
    )
    return [line for line in asked.stdout.splitlines() if package(line) not in peer.left_out]


def package(requirement: str) -> str:
    found = re.match(r"[\w.-]+", requirement)
    assert found is not None
    return found[0]
