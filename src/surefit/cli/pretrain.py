"""`surefit pretrain`."""

from typing import Annotated

from cyclopts import Parameter

from surefit.recipes.pretrain_settings import FeaturePretraining

DEFAULTS = FeaturePretraining()


def pretrain(settings: Annotated[FeaturePretraining, Parameter(name="*")] = DEFAULTS) -> None:
    """Pretrain a transformer on feature sequences `[rows, steps, features]`.

    surefit pretrain                             made rows of a known source, a minute or two
    surefit pretrain --data-path ./data/pretrain/ --steps 20 --features 271
    surefit pretrain --data packed/ --causal --batch-size 256 --max-memory-gb 12
    surefit pretrain --resume runs/pretrain-1
    torchrun --nproc-per-node 2 -m surefit pretrain   two processes, each half of every step
    """
    from surefit.train.one_voice import as_one_command

    with as_one_command():
        from surefit.recipes.pretrain import train
        from surefit.train.ranks import leave_together

        train(settings)
        leave_together()
