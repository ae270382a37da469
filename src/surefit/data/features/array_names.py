"""Whether a path is one of feature arrays, by names of files alone; nothing heavy is imported."""

from pathlib import Path

ALWAYS_ARRAYS = (".npy", ".npz", ".pt", ".pth", ".safetensors")
"""Formats that never hold text rows."""

LAYOUT_FILE = "surefit-layout.json"


def is_array_data(data: Path) -> bool:
    """A file of such a format; a folder with one in it, or with a layout file."""
    try:
        if not data.is_dir():
            return data.suffix.lower() in ALWAYS_ARRAYS
        if (data / LAYOUT_FILE).exists():
            return True
        return any(path.suffix.lower() in ALWAYS_ARRAYS for path in data.iterdir())
    except OSError:
        return False
