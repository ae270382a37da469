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
    """Put a run's trained model into a folder to give away, with a model card.

    surefit export runs/sft-1                    into runs/sft-1/export
    surefit export runs/sft-1 --out my-model

    Adapters are merged into their base, and the merged model is held against both. The card names
    base, data, settings and scores, and nothing of this machine.

    Parameters
    ----------
    run
        The folder of a run.
    out
        The folder to make; by default `export` in the run folder.
    gguf
        Write the model as a GGUF file, too; needs the package `gguf`.
    """
    from surefit.render import console
    from surefit.render.outcome import add_part
    from surefit.train.record import refuse_no_run

    refuse_no_run(run)
    with console.importing():
        from surefit.recipes.export import export as export_run

    exported = export_run(run, out, gguf=gguf)
    add_part("export", {"folder": exported.folder, "difference": exported.difference})
