"""`surefit distill`."""

from typing import Annotated

from cyclopts import Parameter

from surefit.recipes.distill_settings import Distillation

DEFAULTS = Distillation()


def distill(settings: Annotated[Distillation, Parameter(name="*")] = DEFAULTS) -> None:
    """Distil a student from a dense or mixture-of-experts teacher.

    surefit distill                              embedded models, a few minutes
    surefit distill --teacher TEACHER --student STUDENT --data texts.txt
    surefit distill --router sar --compare       train routers; add a baseline
    surefit distill --cache-teacher cache/       run the teacher only once
    surefit distill --resume runs/distill-1
    torchrun --nproc-per-node 2 -m surefit distill   two processes share a step
    """
    from surefit.recipes.token_rows import part_rows
    from surefit.render.console import importing
    from surefit.train.first_here import first_here_then_others
    from surefit.train.one_voice import as_one_command
    from surefit.train.record import refuse_no_run
    from surefit.train.shared_work import shared_working_folder

    with as_one_command(), shared_working_folder() as work:
        # Rows first: a bad one is named in a moment, torch takes seconds to load.
        rows = None
        if settings.resume is None:
            rows = first_here_then_others(lambda: part_rows(settings, work), lambda: None)
        else:
            refuse_no_run(settings.resume, "distill")

        with importing():
            from surefit.recipes.distill import train
        from surefit.train.ranks import leave_together

        train(settings, rows, work)
        leave_together()
