"""`surefit export`."""

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter


def export(
    run: Path,
    *,
    out: Annotated[Path | None, Parameter(alias="--output-dir")] = None,
    gguf: bool = False,
) -> None:
    """Export the trained model of a run to a folder, with a model card.

    surefit export runs/sft-1                    into runs/sft-1/export
    surefit export runs/sft-1 --out my-model

    Adapters are merged into the base model, and the merged model is compared with
    the adapted one. The card lists base model, data, settings and scores, and
    nothing about this machine.

    Parameters
    ----------
    run
        A run folder.
    out
        The folder to write; by default `export` in the run folder.
    gguf
        Also write a GGUF file; requires the package `gguf`.
    """
    from surefit.render import console
    from surefit.render.outcome import add_part
    from surefit.train.record import refuse_no_run

    refuse_no_run(run)
    with console.importing():
        from surefit.recipes.export import export as export_run

    exported = export_run(run, out, gguf=gguf)
    add_part("export", {"folder": exported.folder, "difference": exported.difference})
