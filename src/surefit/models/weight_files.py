"""The files that hold a model's weights, and a name for what is in them; no model is loaded."""

import hashlib
import struct
from pathlib import Path

import msgspec

from .load import WEIGHTS, ModelSource

SEEN = 4096
"""Bytes of a tensor that are looked at, at its beginning and at its end."""


def weight_files(source: ModelSource) -> list[Path]:
    """None where they are not on this machine."""
    if source.gguf_file:
        return [Path(source.location) / source.gguf_file]
    folder = _folder(source.location)
    found = [] if folder is None else [sorted(folder.glob(pattern)) for pattern in WEIGHTS]
    return next((files for files in found if files), [])


def weights_fingerprint_of(source: ModelSource) -> str | None:
    """Of names, shapes and sizes of all weights and of the ends of each; of every byte where files
    are no safetensors. None where the files are not here."""
    files = weight_files(source)
    if not files:
        return None
    digest = hashlib.sha256()
    for file in files:
        digest.update(f"{file.name} {file.stat().st_size} ".encode())
        digest.update(_ends_of_tensors(file) if file.suffix == ".safetensors" else _all(file))
    return digest.hexdigest()[:16]


def _folder(location: str) -> Path | None:
    if Path(location).is_dir():
        return Path(location)
    from huggingface_hub import try_to_load_from_cache

    found = try_to_load_from_cache(location, "config.json")
    return Path(found).parent if isinstance(found, str) else None


def _ends_of_tensors(file: Path) -> bytes:
    digest = hashlib.sha256()
    with file.open("rb") as opened:
        (length,) = struct.unpack("<Q", opened.read(8))
        header = opened.read(length)
        digest.update(header)
        for name, about in msgspec.json.decode(header).items():
            if name == "__metadata__":
                continue
            begin, end = about["data_offsets"]
            for at in (begin, max(begin, end - SEEN)):
                opened.seek(8 + length + at)
                digest.update(opened.read(min(SEEN, end - at)))
    return digest.digest()


def _all(file: Path) -> bytes:
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").digest()
