"""Distillation: rows -> tokens -> batches -> teacher and student -> loss -> metrics -> report."""

import math
import time
from contextlib import nullcontext
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Any

import torch
from accelerate import Accelerator

from surefit.data.batches import Batch
from surefit.data.in_memory import GivenRows
from surefit.data.order import epoch_batches
from surefit.data.peak_memory import peak_memory
from surefit.data.step_batches import StepBatches
from surefit.data.tokens import TokenSet, check_tokenizer
from surefit.doctor.findings import COMMAND_LINE, Fact, Finding, Fix, Place
from surefit.doctor.rule import refusal
from surefit.errors import BadInput, refuse_if
from surefit.losses.divergence import Divergence
from surefit.losses.next_token import NextTokenLoss
from surefit.losses.places import find_places
from surefit.losses.student import StudentLoss
from surefit.models.load import ModelSource, find_model, load_model, load_tokenizer
from surefit.models.lora import count_trainable
from surefit.render.console import progress, say
from surefit.settings import as_dict
from surefit.signatures import takes
from surefit.train.arithmetic import choose_products, products_put_back, settled_precision
from surefit.train.checkpoint import Parts, Stateful, fingerprint, weights_fingerprint
from surefit.train.device import (
    choose_threads,
    describe_device,
    launched_ranks,
    make_accelerator,
    threads_put_back,
)
from surefit.train.first_here import first_here_then_others
from surefit.train.gained import ENOUGH_STEPS, nothing_gained
from surefit.train.interrupt import StopAsked, stop_when_asked
from surefit.train.liveness import Alive, check_objective, check_updates
from surefit.train.lost_process import noticing_death
from surefit.train.one_voice import only_first_speaks
from surefit.train.optimizer import adamw
from surefit.train.own_loss import settle_loss
from surefit.train.pace import StepClock, pace_of
from surefit.train.plan import StepRows
from surefit.train.preflight import check_tokens, preflight
from surefit.train.random_state import seed_rank
from surefit.train.ranks import Ranks
from surefit.train.record import RunFolder, check_free, next_free, start_run
from surefit.train.resume import (
    Saving,
    begin_segment,
    from_newest,
    lengths_of,
    say_resumed,
    segment_steps,
    settings_of,
    stopped,
)
from surefit.train.run_page import begin_page, leaving_page
from surefit.train.schedule import linear_decay
from surefit.train.shared_work import shared_working_folder
from surefit.train.sole_run import sole_run
from surefit.train.step import to_device
from surefit.train.trackers import check_trackers, start_trackers
from surefit.train.watch import Part, Watch

from .distill_batches import Lessons, Rows, StepOrder
from .distill_judge import Judge
from .distill_kept import HELD_OUT, TRAINING
from .distill_report import DistillReport, Tally, say_end
from .distill_router import RouterStep
from .distill_settings import LEARNING_RATE, PRECISIONS, Distillation, with_defaults
from .distill_teacher import Teaching, check_shards, check_together, teaching_for
from .distill_update import Updated, Updating
from .shown_tokens import shown_tokens
from .token_rows import (
    PartedRows,
    keep_rows,
    open_prepared,
    prepare,
    settings_and_rows,
)

LOSS_LOST = refusal("SF081", "distillation-became-nan", "The loss of a step is not a number.")
NOTHING_HELD_OUT = refusal(
    "SF083", "nothing-held-out", "A distillation is judged by rows that it does not train on."
)

RECIPE = "distill"
BASELINE = "baseline"
"""In the run folder, with `--compare`: the run without the router's part."""


@takes(Distillation, "distill", {"data": GivenRows})
def run(**settings: Any) -> DistillReport:
    """Distils a student from a teacher, on rows or on plain texts.

    surefit.distill(teacher_model="big", student_model="small", data="texts.txt", steps=500)

    `data` can be rows in memory, as for `surefit.sft`.
    """
    with settings_and_rows(Distillation, settings) as (settled, work):
        return train(settled, work=work)


@threads_put_back()
@products_put_back()
def train(
    settings: Distillation, rows: PartedRows | None = None, work: Path | None = None
) -> DistillReport:
    """Rows that were parted under these settings already, in `work`, need not be read again."""
    check_trackers(settings.report_to)
    check_together(settings)
    given = nullcontext(work) if work else shared_working_folder()
    with only_first_speaks(), given as work:
        ranks = launched_ranks()
        folder, settings = ranks.first_does(partial(_folder, settings))
        if folder.is_done and not folder.extends:
            say(f"{folder.path} is complete; nothing to resume.")
            with leaving_page(folder, ranks):
                report = folder.read_report_as(DistillReport)
                refuse_if(_nothing_gained(report))
                return report
        with noticing_death(folder), sole_run(folder.path), leaving_page(folder, ranks):
            return _train(settings, rows, work, replace(folder, writes=ranks.is_first), ranks)


def _train(
    settings: Distillation,
    rows: PartedRows | None,
    work: Path,
    folder: RunFolder,
    ranks: Ranks,
) -> DistillReport:
    began = time.monotonic()
    student_source = _source(settings, settings.student_model)
    tokenizer = load_tokenizer(student_source, settings.pad_token)
    check_tokenizer(tokenizer, settings.student_model)

    # source -> rows -> tokens
    prepared = first_here_then_others(
        partial(prepare, settings, tokenizer, work, rows, folder.path),
        partial(open_prepared, work),
    )
    train_set, held_out = prepared.train_set, prepared.held_out
    if not len(held_out):
        raise BadInput(_nothing_held_out(settings))

    # teacher and student
    torch.manual_seed(settings.seed)
    say(f"Loading student: {settings.student_model}")
    model = load_model(student_source)
    if settings.gradient_checkpointing:
        model.gradient_checkpointing_enable({"use_reentrant": False})
    model.to(ranks.device)
    count = count_trainable(model)
    choose_threads(settings.threads, count.all)
    choose_products(model)
    precision = settled_precision(PRECISIONS[settings.precision], model, ranks, frozen=False)
    settings = replace(settings, precision=precision)
    accelerator = make_accelerator(precision)
    say(f"Using device: {describe_device(accelerator)}")
    learning_rate = settings.learning_rate or student_source.learning_rate or LEARNING_RATE
    settings = replace(settings, learning_rate=learning_rate)
    sets = {TRAINING: train_set, HELD_OUT: held_out}
    teaching = teaching_for(settings, tokenizer, model, sets, accelerator, work)
    settings = _settled(settings, prepared.template, teaching.routed, ranks)
    check_shards(settings, sharded=accelerator.is_fsdp2)
    divergence = Divergence(
        settings.objective or "forward-kl",
        settings.temperature or 1.0,
        settings.mixture,
        settings.skew,
    )
    alpha = settings.alpha or 0.0
    student = StudentLoss(model, teaching.voice, divergence, alpha, teaching.tokens)
    for one in (model, *teaching.models):
        check_tokens((train_set, held_out), tokenizer, one)
    say(f"Student: {count.all:,} weights, all trainable")
    say(f"Loss: {1 - alpha:g} cross entropy + {alpha:g} {divergence}, over supervised tokens")

    # tokens -> batches
    step_rows = StepRows(settings.rows_per_step or settings.batch_size, settings.accumulate)
    lengths: list[int] = train_set.lengths.tolist()
    batches = StepBatches(
        train_set,
        lengths,
        tokenizer.pad_token_id,
        settings.batch_size,
        step_rows.rows,
        rank=ranks.rank,
        world=ranks.world,
    )
    coming = StepOrder(lengths, step_rows, settings.seed)
    say(f"Batches: {coming.epoch_steps} steps per epoch, {step_rows.rows} rows per step")
    lessons = Lessons(
        batches,
        model,
        tokenizer,
        settings.on_policy or 0.0,
        settings.seed,
        settings.max_new_tokens or int(train_set.answer_lengths.max()),
        settings.max_tokens,
        ranks,
    )
    updates = settings.updates or 1
    optimizer = adamw(
        model.parameters(),
        accelerator,
        learning_rate=learning_rate,
        weight_decay=settings.weight_decay,
    )
    steps = segment_steps(folder, settings.steps)
    schedule = linear_decay(optimizer, steps * updates, settings.warmup)
    identity = _identity(settings, model, train_set, held_out, teaching)
    router_step = _router_step(settings, teaching, student, accelerator, ranks)

    # the loss beside the model's own, the objective on a real batch, a batch there and back; stops
    # here with a diagnosis
    own_loss = NextTokenLoss(model)
    if slower := settle_loss(own_loss, batches.made([0])):
        say(slower)
    student.way = own_loss.way
    first = to_device(accelerator, lessons.of_rows(coming(0)).batches[0])
    alive = student_alive(student, first)
    if not settings.force:
        alive = check_updates(alive, model.parameters(), learning_rate)
    say(str(alive))
    loss_of, stepper = accelerator.prepare(student, optimizer)
    model.train()
    first_loss, memory = preflight(
        loss_of,
        to_device(accelerator, batches.longest()),
        accumulates=step_rows.batches > 1,
        backward=accelerator.backward,
        instead=to_device(accelerator, batches.shortest()),
    )
    student.sums.take()
    say(f"Preflight: initial loss {first_loss:.4f}; a step needs, without the teacher, {memory}")
    judge = Judge(
        folder,
        accelerator,
        student,
        teaching,
        tokenizer,
        held_out,
        settings.batch_size,
        ranks,
        outermost=loss_of,
    )
    if teaching.routed:
        judge.say_experts()

    # the run folder is made only now: what cannot work has left nothing behind
    if settings.resume is None:
        keep = partial(keep_rows, settings, work)
        ranks.first_does(partial(start_run, folder.path, as_dict(settings), RECIPE, keep))
    elif folder.extends:
        ranks.first_does(partial(begin_segment, folder, settings))
    say(f"Run folder: {folder.path}")
    ranks.first_does(
        lambda: begin_page(
            folder,
            shown_tokens(
                settings,
                prepared,
                tokenizer,
                epoch_batches(lengths, step_rows.in_a_batch, settings.seed, 0),
                identity,
            ),
            describe_device(accelerator),
        )
    )
    trackers = start_trackers(settings.report_to, as_dict(settings), folder, ranks.is_first)
    folder = replace(folder, tell=trackers.add)
    judge = replace(judge, folder=folder)
    tally = Tally()
    more: dict[str, Stateful] = {"tally": tally}
    more |= {} if teaching.teacher is None else {"teacher": teaching.teacher}
    more |= {} if router_step is None else {"routers": router_step}
    parts = Parts(model, optimizer, schedule, accelerator.scaler, more)
    saving = Saving(folder, parts, identity, ranks)
    if ranks.world > 1:
        seed_rank(settings.seed, ranks.rank)
    state = saving.restore()
    if settings.resume:
        say_resumed(state, settings.steps)
    update = Updating(
        accelerator, ranks, student, loss_of, stepper, schedule, settings.max_grad_norm, tally
    )
    clock = StepClock()
    watch = Watch(teaching.tokens, Place(str(folder.path)), alive.same)

    # loss -> metrics
    with trackers, stop_when_asked() as wish:
        try:
            if state.step == 0:
                judge.before(state)
            with progress(
                "Distilling", settings.steps, done=state.step, log_every=settings.log_every
            ) as bar:
                for number in range(state.step, settings.steps):
                    clock.start()
                    rate = float(schedule.get_last_lr()[0])
                    lesson = lessons.of(coming(number), number)
                    teaching.begin_step(settings.seed, number)
                    moved = router_step(lesson) if router_step else None
                    for _ in range(updates):
                        done = update(lesson)
                        _refuse_lost(done, folder, number, coming(number), train_set)
                        watch.see(
                            number + 1,
                            loss=done.loss,
                            norm=done.norm,
                            cross_entropy=Part(done.cross_entropy, 1 - alpha),
                            divergence=Part(done.divergence, alpha),
                            skipped=done.skipped,
                        )
                    state = replace(state, step=number + 1, epoch=number // coming.epoch_steps)
                    folder.add_step(
                        state,
                        done.loss,
                        rate,
                        done.norm,
                        lesson.places,
                        cross_entropy=done.cross_entropy,
                        divergence=done.divergence,
                        on_policy=lesson.own,
                        updates=tally.updates,
                        skipped=tally.skipped,
                        **clock.figures(lesson.tokens, lesson.places),
                        **(moved.as_record() if moved else {}),
                    )
                    bar.step(loss=f"{done.loss:.4f}", kd=f"{done.divergence:.4f}", lr=f"{rate:.1e}")
                    evaluates = state.step % settings.evaluate_every == 0
                    if evaluates or state.step == settings.steps:
                        state = judge.after(state, tally)
                    if evaluates or state.step % settings.save_every == 0:
                        saving.save(state)
                        folder.keep_best(state.best_epoch)
                    if ranks.any(wish.asked):
                        raise StopAsked  # noqa: TRY301 - on all processes at the same step
        except StopAsked:
            saving.save(state)
            raise stopped(folder, state, settings.steps) from None
        saving.save(state)

    # report
    best = state.best_epoch or state.step
    trained = folder.finish(best, "model")
    ranks.wait()
    baseline = _baseline(settings, folder) if settings.compare and teaching.routed else None
    before, after = judge.scores_of(0, best)
    report = DistillReport(
        folder=str(folder.path),
        trained=str(trained),
        steps=state.step,
        updates=tally.updates,
        skipped=tally.skipped,
        best_step=best,
        cross_entropy_before=before.cross_entropy,
        cross_entropy=after.cross_entropy,
        teacher_cross_entropy=after.teacher_cross_entropy,
        divergence_before=before.divergence,
        divergence=after.divergence,
        agreement_before=before.agreement,
        agreement=after.agreement,
        teacher_passes=teaching.passes,
        peak_memory=peak_memory(),
        seconds=time.monotonic() - began,
        training_rows=len(train_set),
        held_out_rows=len(held_out),
        held_out_tokens=after.tokens,
        baseline=None if baseline is None else asdict(baseline),
        pace=pace_of(folder.metrics()),
    )
    folder.write_report(report)
    say_end(report)
    refuse_if(_nothing_gained(report))
    return report


def _folder(settings: Distillation) -> tuple[RunFolder, Distillation]:
    if settings.resume is not None:
        return settings_of(settings, settings.resume, RECIPE)
    path = settings.out or next_free(Path("runs"), RECIPE)
    check_free(path)
    return RunFolder(path, RECIPE), settings


def _source(settings: Distillation, name: str) -> ModelSource:
    return find_model(name, trust_remote_code=settings.trust_remote_code)


def _settled(settings: Distillation, template: str, routed: bool, ranks: Ranks) -> Distillation:
    """As the run folder keeps them: nothing is left open."""
    settings = with_defaults(settings, routed=routed)
    if settings.resume is not None and settings.rows_per_step is not None:
        step_rows = StepRows(settings.rows_per_step, settings.accumulate)
    else:
        step_rows = StepRows.of(
            settings.batch_size, settings.accumulate, settings.rows_per_step, ranks.world
        )
    return replace(
        settings,
        template=template,
        accumulate=step_rows.batches,
        rows_per_step=step_rows.rows,
    )


def student_alive(student: StudentLoss, batch: Batch) -> Alive:
    """The objective on this batch; raises `BadInput` where it cannot train."""
    places = find_places(batch["labels"])
    with torch.no_grad():
        states, said = student.states(batch, places), student.voice(batch, places)
    given = (states, student.head, said, places.targets)
    return check_objective(*given, student.divergence, student.alpha)


def _router_step(
    settings: Distillation,
    teaching: Teaching,
    student: StudentLoss,
    accelerator: Accelerator,
    ranks: Ranks,
) -> RouterStep | None:
    if teaching.training is None:
        return None
    return RouterStep(
        teaching,
        teaching.training,
        student,
        settings.balance,
        accelerator,
        ranks,
    )


def _identity(
    settings: Distillation,
    model: Any,
    train_set: TokenSet,
    held_out: TokenSet,
    teaching: Teaching,
) -> dict[str, str]:
    """What a checkpoint must share with the run that goes on from it."""
    aside = {"out", "resume", "log_every", "save_every", "compare", "force", "offload_teacher"}
    aside |= {*lengths_of(RECIPE)}
    counts = {name: value for name, value in as_dict(settings).items() if name not in aside}
    return {
        "settings": fingerprint(counts),
        "rows": fingerprint(train_set.fingerprint(), held_out.fingerprint()),
        "student": weights_fingerprint(model),
        "teacher": teaching.fingerprint,
    }


def _baseline(settings: Distillation, folder: RunFolder) -> DistillReport:
    """The same student, rows, objective and number of updates, without the router's part."""
    place = folder.path / BASELINE
    begun = (place / "settings.json").exists()
    say("Training the baseline: same student, same number of updates, without the router method")
    plain = replace(settings, router="none", compare=False, out=place, resume=None)
    return train(replace(plain, resume=place) if begun else plain)


def _nothing_gained(report: DistillReport) -> list[Finding]:
    """Neither the tokens nor the teacher are predicted better than before."""
    nearer = report.divergence < report.divergence_before
    if nearer or report.cross_entropy < report.cross_entropy_before:
        return []
    if report.steps < ENOUGH_STEPS:
        return []
    return [
        nothing_gained(
            report.folder,
            f"Perplexity is {report.shown(report.cross_entropy)} after {report.steps:,} steps; it "
            "was "
            f"{report.shown(report.cross_entropy_before)} before training.",
            [
                Fact("held-out rows", f"{report.held_out_rows:,}"),
                Fact(
                    "KL to the teacher",
                    f"{report.divergence:.4f}, before {report.divergence_before:.4f}",
                ),
            ],
            "--steps",
        )
    ]


def _refuse_lost(done: Updated, folder: RunFolder, number: int, step: Rows, rows: TokenSet) -> None:
    if math.isfinite(done.loss):
        return
    lines = [str(rows.rows[row].place) for batch in step for row in batch]
    raise BadInput(
        LOSS_LOST.finding(
            Place(str(folder.path)),
            f"The loss of step {number + 1} is {done.loss}; the run stopped before that step.",
            facts=[
                Fact("cross entropy", f"{done.cross_entropy}"),
                Fact("divergence", f"{done.divergence}"),
                Fact("rows of that step", ", ".join(lines[:20])),
            ],
            why="One more optimizer step would have made every weight of the student NaN.",
            fixes=[
                Fix("Start again with a lower `--learning-rate`, or with `--precision fp32`."),
                *from_newest(folder),
            ],
        )
    )


def _nothing_held_out(settings: Distillation) -> Finding:
    return NOTHING_HELD_OUT.finding(
        COMMAND_LINE,
        "No rows are held out, so there is nothing to evaluate the student on.",
        facts=[Fact("`held_out`", f"{settings.held_out:g}")],
        fixes=[Fix("Hold out some rows:  --held-out 0.1")],
    )
