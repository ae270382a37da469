"""LoRA fine-tuning: rows -> tokens -> batches -> model -> loss -> metrics -> report."""

import math
import time
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import torch

from surefit.data.in_memory import GivenRows
from surefit.data.order import epoch_batches, padding_waste
from surefit.data.row_tokenizer import to_write
from surefit.data.step_batches import StepBatches
from surefit.data.tokens import TokenSet, check_tokenizer
from surefit.doctor.findings import Fact, Finding, Fix, Place
from surefit.doctor.rule import refusal
from surefit.errors import BadInput, refuse_if
from surefit.losses.next_token import NextTokenLoss
from surefit.models.load import (
    ModelSource,
    find_model,
    held_in,
    hold_in,
    load_model,
    load_tokenizer,
)
from surefit.models.lora import add_lora, count_trainable
from surefit.models.quantised import check_four_bit
from surefit.render.console import progress, say, working
from surefit.settings import Precision, as_dict
from surefit.signatures import takes
from surefit.train.arithmetic import (
    choose_products,
    known_precision,
    products_put_back,
    settled_precision,
)
from surefit.train.checkpoint import Parts, fingerprint, weights_fingerprint
from surefit.train.device import (
    choose_threads,
    describe_device,
    launched_ranks,
    make_accelerator,
    threads_put_back,
)
from surefit.train.first_here import first_here_then_others
from surefit.train.gained import ENOUGH_STEPS, nothing_gained
from surefit.train.interrupt import StopAsked, StopWish, stop_when_asked
from surefit.train.isolation import check_isolation
from surefit.train.lost_process import noticing_death
from surefit.train.one_voice import only_first_speaks
from surefit.train.optimizer import adamw
from surefit.train.own_loss import settle_loss
from surefit.train.pace import StepClock, pace_of
from surefit.train.plan import Plan, StepRows
from surefit.train.preflight import check_read_back, check_tokens, preflight
from surefit.train.progress import Progress
from surefit.train.random_state import seed_rank
from surefit.train.ranks import Ranks
from surefit.train.record import Report, RunFolder, check_free, next_free, start_run
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
from surefit.train.step import forward_backward, to_device
from surefit.train.trackers import check_trackers, start_trackers
from surefit.train.watch import Part, Watch

from .sft_judge import Judge
from .sft_settings import LEARNING_RATE, LoraSft
from .shown_tokens import shown_tokens
from .token_rows import (
    PartedRows,
    keep_rows,
    open_prepared,
    prepare,
    settings_and_rows,
)

LOSS_LOST = refusal("SF189", "loss-became-nan", "The loss of a training step is not a number.")


@takes(LoraSft, "sft", {"data": GivenRows})
def run(**settings: Any) -> Report:
    """Fine-tunes a causal model on rows of prompt and answer, or on conversations.

    surefit.sft(data="rows.jsonl", model="Qwen/Qwen3-0.6B-Base", epochs=3)
    surefit.sft(data=[{"input": "...", "target": "..."}, ...])
    surefit.sft(resume="runs/sft-1")

    `data` can be rows in memory: dictionaries from a list or a generator, a `datasets.Dataset` or a
    DataFrame; they are saved in the run folder. Setting names of the Hugging Face Trainer, TRL and
    Axolotl are accepted, too.
    """
    with settings_and_rows(LoraSft, settings) as (settled, work):
        return train(settled, work=work)


@threads_put_back()
@products_put_back()
def train(settings: LoraSft, rows: PartedRows | None = None, work: Path | None = None) -> Report:
    """Rows that were parted under these settings already, in `work`, need not be read again."""
    check_trackers(settings.report_to)
    if settings.load_in_4bit:
        check_four_bit(full=settings.full)
    given = nullcontext(work) if work else shared_working_folder()
    with only_first_speaks(), given as work:
        ranks = launched_ranks()
        folder, settings = ranks.first_does(partial(_folder, settings))
        if folder.is_done and not folder.extends:
            say(f"{folder.path} is complete; nothing to resume.")
            with leaving_page(folder, ranks):
                report = folder.read_report()
                refuse_if(_nothing_gained(report))
                return report
        with noticing_death(folder), sole_run(folder.path), leaving_page(folder, ranks):
            return _train(settings, rows, work, replace(folder, writes=ranks.is_first), ranks)


def _train(
    settings: LoraSft,
    rows: PartedRows | None,
    work: Path,
    folder: RunFolder,
    ranks: Ranks,
) -> Report:
    began = time.monotonic()
    say(f"Loading model: {settings.model}")
    source = find_model(settings.model, trust_remote_code=settings.trust_remote_code)
    tokenizer = load_tokenizer(source, settings.pad_token)
    check_tokenizer(tokenizer, settings.model)

    # source -> rows -> tokens -> batches
    prepared = first_here_then_others(
        partial(prepare, settings, tokenizer, work, rows, folder.path),
        partial(open_prepared, work),
    )
    train_set, held_out = prepared.train_set, prepared.held_out
    learning_rate = settings.learning_rate or source.learning_rate or LEARNING_RATE
    step_rows = _step_rows(settings, ranks)
    settings = replace(
        settings,
        template=prepared.template,
        learning_rate=learning_rate,
        accumulate=step_rows.batches,
        rows_per_step=step_rows.rows,
    )
    lengths: list[int] = train_set.lengths.tolist()
    batches = StepBatches(
        train_set,
        lengths,
        tokenizer.pad_token_id,
        settings.batch_size,
        step_rows.rows,
        (settings.pack_tokens or max(lengths)) if settings.packing else None,
        ranks.rank,
        ranks.world,
    )
    plan = Plan.of(
        rows=len(lengths), step=step_rows, epochs=settings.epochs, max_steps=settings.max_steps
    )
    _say_batches(settings, plan, step_rows, lengths)

    # model
    torch.manual_seed(settings.seed)
    model, precision = _trainable_model(settings, source, ranks)
    settings = replace(settings, precision=precision)
    accelerator = make_accelerator(precision)
    say(f"Using device: {describe_device(accelerator)}")
    check_tokens((train_set, held_out), tokenizer, model)
    identity = _identity(settings, model, train_set, held_out)
    optimizer = adamw(
        model.parameters(),
        accelerator,
        learning_rate=learning_rate,
        weight_decay=settings.weight_decay,
    )
    schedule = linear_decay(optimizer, segment_steps(folder, plan.steps), settings.warmup)
    loss_of: Any = NextTokenLoss(model)
    if not accelerator.is_fsdp2:  # a model to be sharded need not fit on one device
        loss_of.to(accelerator.device)

    # one row read back, the loss beside the model's own, a batch there and back; stops here with a
    # diagnosis
    first = train_set.tokens[0]
    check_read_back(first, to_write(train_set.rows[0], first, tokenizer), tokenizer)
    if slower := settle_loss(loss_of, batches.made([0])):
        say(slower)
    if settings.packing:
        check_isolation(loss_of, train_set.features(range(min(3, len(train_set)))))
    loss_of, stepper = accelerator.prepare(loss_of, optimizer)
    model.train()
    first_loss, memory = preflight(
        loss_of,
        to_device(accelerator, batches.longest()),
        learning_rate=learning_rate,
        accumulates=step_rows.batches > 1,
        backward=accelerator.backward,
        instead=to_device(accelerator, batches.shortest()),
    )
    say(f"Preflight: initial loss {first_loss:.4f}; a step needs {memory}")

    # the run folder is made only now: what cannot work has left nothing behind
    if settings.resume is None:
        keep = partial(keep_rows, settings, work)
        ranks.first_does(partial(start_run, folder.path, as_dict(settings), fill=keep))
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
                [] if settings.packing else first_epoch(settings, step_rows, lengths),
                identity,
            ),
            describe_device(accelerator),
        )
    )
    trackers = start_trackers(settings.report_to, as_dict(settings), folder, ranks.is_first)
    folder = replace(folder, tell=trackers.add)
    parts = Parts(model, optimizer, schedule, accelerator.scaler)
    saving = Saving(folder, parts, identity, ranks)
    if ranks.world > 1:
        seed_rank(settings.seed, ranks.rank)
    state = saving.restore()
    if settings.resume:
        say_resumed(state, plan.steps)
    watch = Watch(model.config.get_text_config().vocab_size, Place(str(folder.path)))
    longest_answer = int(train_set.answer_lengths.max())
    judge = Judge(
        folder,
        accelerator,
        model,
        tokenizer,
        held_out,
        max_new_tokens=settings.max_new_tokens or longest_answer + 8,
        batch_size=settings.generate_batch_size,
        ranks=ranks,
        outermost=loss_of,
        loss_batch=settings.batch_size,
    )
    clock = StepClock()

    # loss -> metrics
    with trackers, stop_when_asked() as wish:
        try:
            if settings.evaluate_before and state.step == 0:
                judge.score(0, state, wish)
            # An epoch whose steps are done can still lack its evaluation.
            while (state.step < plan.steps or state.step_in_epoch) and not _gave_up(
                state, settings
            ):
                order = epoch_batches(
                    lengths,
                    step_rows.in_a_batch,
                    settings.seed,
                    state.epoch,
                    bucket=settings.bucket,
                )
                steps = plan.groups(order, state.step - state.step_in_epoch)
                title = f"Epoch {state.epoch + 1}/{plan.epochs}"
                with progress(
                    title, len(steps), done=state.step_in_epoch, log_every=settings.log_every
                ) as bar:
                    for step in steps[state.step_in_epoch :]:
                        clock.start()
                        rate = float(schedule.get_last_lr()[0])
                        places = batches.places(step)
                        there = forward_backward(
                            accelerator,
                            ranks,
                            loss_of,
                            batches.of(step),
                            places,
                            settings.max_grad_norm,
                        )
                        (loss,) = ranks.summed(there.loss)
                        if not math.isfinite(loss):
                            raise BadInput(_loss_lost(folder, state, loss, step, train_set))
                        stepper.step()
                        if not accelerator.optimizer_step_was_skipped:
                            schedule.step()
                        stepper.zero_grad()
                        state = _counted(state, loss, places)
                        watch.see(
                            state.step,
                            loss=loss,
                            norm=there.norm,
                            cross_entropy=Part(loss, 1.0),
                            skipped=accelerator.optimizer_step_was_skipped,
                        )
                        figures = clock.figures(batches.tokens(step), places)
                        folder.add_step(state, loss, rate, there.norm, places, **figures)
                        bar.step(loss=f"{loss:.4f}", lr=f"{rate:.1e}")
                        if _evaluates(settings, state) and state.step_in_epoch < len(steps):
                            judge.score(None, state, StopWish())
                        if state.step % settings.save_every == 0:
                            saving.save(state)
                        _stop_if(ranks.any(wish.asked))
                say(f"{title}: average loss {state.loss_sum / state.places:.4f}")
                state = judge.end_epoch(state, wish)
                saving.save(state)
                folder.keep_best(state.best_epoch)
        except StopAsked:
            saving.save(state)
            raise stopped(folder, state, plan.steps) from None

    # report
    best = state.best_epoch or state.epoch
    trained = folder.finish(best, "model" if settings.full else "adapter")
    score = folder.score_of(best)
    report = Report(
        folder=str(folder.path),
        trained=str(trained),
        epochs=state.epoch,
        steps=state.step,
        loss=state.epoch_loss,
        seconds=time.monotonic() - began,
        training_rows=len(train_set),
        held_out_rows=len(held_out),
        best_epoch=best,
        f1_before=folder.score_of(0).get("f1"),
        f1=score.get("f1"),
        exact_match=score.get("exact_match"),
        validation_loss_before=folder.score_of(0).get("validation_loss"),
        validation_loss=score.get("validation_loss"),
        pace=pace_of(folder.metrics()),
    )
    folder.write_report(report)
    _say_end(report)
    refuse_if(_nothing_gained(report))
    return report


def _folder(settings: LoraSft) -> tuple[RunFolder, LoraSft]:
    if settings.resume is not None:
        return settings_of(settings, settings.resume, "sft")
    path = settings.out or next_free(Path("runs"), "sft")
    check_free(path)
    return RunFolder(path), settings


def _step_rows(settings: LoraSft, ranks: Ranks) -> StepRows:
    """A run that goes on keeps the rows of its steps, in however many processes."""
    if settings.resume is not None and settings.rows_per_step is not None:
        return StepRows(settings.rows_per_step, settings.accumulate)
    return StepRows.of(
        settings.batch_size, settings.accumulate, settings.rows_per_step, ranks.world
    )


def first_epoch(settings: LoraSft, step_rows: StepRows, lengths: list[int]) -> list[list[int]]:
    return epoch_batches(lengths, step_rows.in_a_batch, settings.seed, 0, bucket=settings.bucket)


def _say_batches(settings: LoraSft, plan: Plan, step_rows: StepRows, lengths: list[int]) -> None:
    order = first_epoch(settings, step_rows, lengths)
    layout = (
        f"packed into sequences of at most {settings.pack_tokens or max(lengths)} tokens"
        if settings.packing
        else f"{padding_waste(lengths, order):.1%} padding"
    )
    say(
        f"Batches: {len(order)} per epoch, {layout}; {step_rows.rows} rows per step, "
        f"{plan.steps} steps"
    )


def _trainable_model(settings: LoraSft, source: ModelSource, ranks: Ranks) -> tuple[Any, Precision]:
    """And the precision to train it in."""
    asked = settings.precision
    if asked == "auto" and settings.load_in_4bit:
        asked = known_precision(asked) or "fp32"
    dtype = held_in(known_precision(asked) or "fp32", full=settings.full)
    with working(f"loading {settings.model}"):
        model = load_model(source, dtype, four_bit=settings.load_in_4bit)
    choose_threads(settings.threads, count_trainable(model).all)
    choose_products(model)
    precision = settled_precision(asked, model, ranks, frozen=not settings.full)
    if held_in(precision, full=settings.full) != dtype:
        hold_in(model, held_in(precision, full=settings.full))
    if settings.gradient_checkpointing:
        model.gradient_checkpointing_enable({"use_reentrant": False})
    if not settings.full:
        model = add_lora(
            model,
            settings.lora_r,
            settings.lora_alpha,
            settings.lora_dropout,
            settings.lora_targets,
        )
    count = count_trainable(model)
    what = "all weights" if settings.full else f"LoRA adapters of rank {settings.lora_r}"
    say(f"Training {what}: {count.trained:,} of {count.all:,} weights ({count.share:.1%})")
    return model, precision


def _counted(state: Progress, loss: float, places: int) -> Progress:
    return replace(
        state,
        step=state.step + 1,
        step_in_epoch=state.step_in_epoch + 1,
        loss_sum=state.loss_sum + loss * places,
        places=state.places + places,
    )


def _evaluates(settings: LoraSft, state: Progress) -> bool:
    every = settings.evaluate_every
    return every is not None and state.step % every == 0


def _stop_if(asked: bool) -> None:
    """On all processes alike, at the same step."""
    if asked:
        raise StopAsked


def _gave_up(state: Progress, settings: LoraSft) -> bool:
    patience = settings.early_stopping
    if patience is None or state.epochs_without_gain < patience:
        return False
    say(f"Early stopping: F1 has not improved for {state.epochs_without_gain} epochs")
    return True


def _identity(
    settings: LoraSft, model: Any, train_set: TokenSet, held_out: TokenSet
) -> dict[str, str]:
    """What a checkpoint must share with the run that goes on from it."""
    aside = {"out", "resume", "log_every", "save_every", *lengths_of("sft")}
    counts = {name: value for name, value in as_dict(settings).items() if name not in aside}
    return {
        "settings": fingerprint(counts),
        "rows": fingerprint(train_set.fingerprint(), held_out.fingerprint()),
        "model": weights_fingerprint(model),
    }


def _loss_lost(
    folder: RunFolder, state: Progress, loss: float, group: list[list[int]], rows: TokenSet
) -> Finding:
    lines = [str(rows.rows[index].place) for batch in group for index in batch]
    return LOSS_LOST.finding(
        Place(str(folder.path)),
        f"The loss of step {state.step + 1} is {loss}; the run stopped before that step.",
        facts=[Fact("rows of that step", ", ".join(lines[:20]))],
        why="One more step would have made every trained weight NaN.",
        fixes=[
            Fix("Start again with a lower `--learning-rate`, or with `--precision fp32`."),
            *from_newest(folder),
        ],
    )


def _nothing_gained(report: Report) -> list[Finding]:
    """A run after which the held-out rows are answered no better, and no likelier in its eyes."""
    before, after = report.validation_loss_before, report.validation_loss
    if report.f1 is None or report.f1_before is None or report.steps < ENOUGH_STEPS:
        return []
    if report.f1 > report.f1_before or report.f1 == 1:
        return []
    if before is not None and after is not None and after < before:
        return []
    losses = before is not None and after is not None
    return [
        nothing_gained(
            report.folder,
            f"F1 is {report.f1:.4f} after {report.steps:,} steps, and was {report.f1_before:.4f} "
            "before the first.",
            [
                Fact("held-out rows", f"{report.held_out_rows:,}"),
                Fact("mean loss of the last epoch", f"{report.loss:.4f}"),
                *([Fact("validation loss", f"{after:.4f}, before {before:.4f}")] if losses else []),
            ],
            "--epochs",
        )
    ]


def _say_end(report: Report) -> None:
    if report.f1 is not None:
        before = "" if report.f1_before is None else f" (before training {report.f1_before:.4f})"
        say(f"Best epoch {report.best_epoch}: Average F1 Score = {report.f1:.4f}{before}")
    if report.validation_loss is not None:
        first = report.validation_loss_before
        before = "" if first is None else f" (before training {first:.4f})"
        say(f"Validation loss {report.validation_loss:.4f}{before}")
    if report.pace is not None:
        say(f"Speed: {report.pace}")
    say(f"Trained weights: {report.trained}  ({report.seconds:.0f} s)")
