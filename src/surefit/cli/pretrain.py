"""`surefit pretrain`."""

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from surefit.recipes.pretrain_settings import MADE, FeaturePretraining

DEFAULTS = FeaturePretraining()


def pretrain(settings: Annotated[FeaturePretraining, Parameter(name="*")] = DEFAULTS) -> None:
    """Pretrain a transformer on feature sequences `[rows, steps, features]`.

    surefit pretrain                             generated rows, a minute or two
    surefit pretrain --data-path ./data/pretrain/ --steps 20 --features 271
    surefit pretrain --data packed/ --causal --batch-size 256 --max-memory-gb 12
    surefit pretrain --resume runs/pretrain-1
    torchrun --nproc-per-node 2 -m surefit pretrain   two processes share a step
    """
    from surefit.data.features.files import array_paths
    from surefit.render.console import importing
    from surefit.train.one_voice import as_one_command
    from surefit.train.record import refuse_no_run

    with as_one_command():
        if settings.resume is not None:
            refuse_no_run(settings.resume, "pretrain")
        elif settings.data != MADE:
            array_paths(Path(settings.data))
        with importing():
            from surefit.recipes.pretrain import train
        from surefit.train.ranks import leave_together

        train(settings)
        leave_together()
