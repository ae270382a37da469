"""Executes the example notebooks and keeps what their cells print: `python -m tools.notebooks`."""

import os
import sys
import tempfile
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient

EXAMPLES = Path(__file__).parents[1] / "examples"


def executed(file: Path) -> Any:
    """The notebook after all its cells, run in a folder of their own by this very Python."""
    notebook: Any = nbformat.read(file, as_version=4)  # type: ignore[no-untyped-call]
    with tempfile.TemporaryDirectory() as folder:
        words = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
        client = NotebookClient(
            notebook,
            timeout=300,
            resources={"metadata": {"path": folder}},
            kernel_name="python3",
            record_timing=False,
            coalesce_streams=True,
        )
        manager: Any = client.create_kernel_manager()
        manager.kernel_spec.argv = words
        os.environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        client.execute()
    for cell in notebook.cells:
        cell["outputs"] = [kept(one) for one in cell.get("outputs", ()) if is_told(one)]
        if cell.cell_type != "code":
            del cell["outputs"]
    return notebook


def is_told(output: Any) -> bool:
    """Warnings of a kernel name folders of the machine."""
    return bool(output.get("name") != "stderr")


def kept(output: Any) -> Any:
    """As text alone: what is coloured for a browser says the same."""
    output.get("data", {}).pop("text/html", None)
    return output


def main() -> None:
    for file in sorted(EXAMPLES.glob("*.ipynb")):
        nbformat.write(executed(file), file)  # type: ignore[no-untyped-call]


if __name__ == "__main__":
    main()
