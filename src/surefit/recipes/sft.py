"""LoRA fine-tuning: rows -> tokens -> batches -> model -> loss -> metrics -> report."""

import math
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from accelerate import Accelerator

from surefit.data.batches import Batch, PadRows
from surefit.data.order import epoch_batches
from surefit.data.templates import settle_template
from surefit.data.tokens import TokenSet, check_tokenizer
from surefit.doctor.findings import Fact, Finding, Fix, Place
from surefit.doctor.rule import refusal
from surefit.errors import BadInput
from surefit.losses.next_token import NextTokenLoss, supervised_places
from surefit.models.load import ModelSource, find_model, load_model, load_tokenizer
from surefit.models.lora import add_lora, count_trainable
from surefit.models.save import save_merged
from surefit.render.console import progress, say
from surefit.settings import as_dict, from_names
from surefit.train.checkpoint import Parts, fingerprint, weights_fingerprint
from surefit.train.device import (
    choose_threads,
    describe_device,
    make_accelerator,
    threads_put_back,
)
from surefit.train.interrupt import StopAsked, stop_when_asked
from surefit.train.plan import Plan
from surefit.train.preflight import check_read_back, check_tokens, preflight
from surefit.train.progress import Progress
from surefit.train.record import Report, RunFolder, check_free, next_free, start_run
from surefit.train.resume import Saving, settings_of, stopped
from surefit.train.schedule import linear_decay

from .sft_judge import Judge
from .sft_rows import PartedRows, part_rows, say_parted, tokenize_rows
from .sft_settings import LEARNING_RATE, LoraSft

LOSS_LOST = refusal("SF189", "loss-became-nan", "The loss of a training step is not a number.")


def run(**settings: Any) -> Report:
    """Fine-tunes with these settings, named as the flags are: `surefit.sft(epochs=3)`."""
    return train(from_names(LoraSft, settings))


@threads_put_back()
def train(settings: LoraSft, rows: PartedRows | None = None) -> Report:
    """Rows that were parted under these settings already need not be read again."""
    began = time.monotonic()
    folder, settings = _folder(settings)
    if folder.is_done:
        say(f"{folder.path} is done; there is nothing to go on with.")
        return folder.read_report()
    accelerator = make_accelerator(settings.precision)
    say(f"Using device: {describe_device(accelerator)}")
    say(f"Loading model: {settings.model}")
    source = find_model(settings.model, trust_remote_code=settings.trust_remote_code)
    tokenizer = load_tokenizer(source, settings.pad_token)
    check_tokenizer(tokenizer, settings.model)

    # source -> rows -> tokens -> batches
    rows = rows or part_rows(settings)
    learning_rate = settings.learning_rate or source.learning_rate or LEARNING_RATE
    template = settle_template(settings.template, rows.source.kind, tokenizer)
    settings = replace(settings, template=template, learning_rate=learning_rate)
    say_parted(settings, rows)
    train_set, held_out = tokenize_rows(settings, rows, tokenizer)
    lengths = [len(tokens.ids) for tokens in train_set.tokens]
    collate = PadRows(pad_id=tokenizer.pad_token_id)

    # model
    torch.manual_seed(settings.seed)
    model = _trainable_model(settings, source)
    check_tokens((*train_set.tokens, *held_out.tokens), tokenizer, model)
    optimizer = torch.optim.AdamW(
        [parameter for parameter in model.parameters() if parameter.requires_grad],
        lr=learning_rate,
        weight_decay=settings.weight_decay,
    )
    plan = Plan.of(
        rows=len(lengths),
        batch_size=settings.batch_size,
        accumulate=settings.accumulate,
        epochs=settings.epochs,
        max_steps=settings.max_steps,
    )
    schedule = linear_decay(optimizer, plan.steps, settings.warmup)
    loss_of, stepper = accelerator.prepare(NextTokenLoss(model), optimizer)

    # one row read back, the longest batch there and back; stops here with a diagnosis
    check_read_back(train_set.tokens[0], train_set.rows[0].target, tokenizer)
    longest = sorted(range(len(lengths)), key=lambda row: -lengths[row])[: settings.batch_size]
    model.train()
    first_loss, memory = preflight(loss_of, _to(accelerator, collate(train_set.features(longest))))
    say(f"Preflight: loss {first_loss:.4f} on the longest batch; a step takes {memory}")

    # the run folder is made only now: what cannot work has left nothing behind
    if settings.resume is None:
        start_run(folder.path, as_dict(settings))
    say(f"Run folder: {folder.path}")
    saving = Saving(
        folder,
        Parts(model, optimizer, schedule, accelerator.scaler),
        _identity(settings, model, train_set, held_out),
    )
    state = saving.restore()
    longest_answer = max(len(tokens.answer) for tokens in train_set.tokens)
    judge = Judge(
        folder,
        accelerator,
        model,
        tokenizer,
        held_out,
        max_new_tokens=settings.max_new_tokens or longest_answer + 8,
        batch_size=settings.generate_batch_size,
    )

    # loss -> metrics
    with stop_when_asked() as wish:
        try:
            if settings.evaluate_before and state.step == 0:
                judge.score(0, state, wish)
            while state.epoch < plan.epochs and not _gave_up(state, settings):
                order = epoch_batches(
                    lengths, settings.batch_size, settings.seed, state.epoch, bucket=settings.bucket
                )
                groups = plan.groups(order, state.epoch)
                title = f"Epoch {state.epoch + 1}/{plan.epochs}"
                with progress(
                    title, len(groups), done=state.step_in_epoch, log_every=settings.log_every
                ) as bar:
                    for group in groups[state.step_in_epoch :]:
                        batches = [
                            _to(accelerator, collate(train_set.features(chosen)))
                            for chosen in group
                        ]
                        rate = float(schedule.get_last_lr()[0])
                        loss, norm, places = _forward_backward(
                            accelerator, loss_of, batches, settings.max_grad_norm
                        )
                        if not math.isfinite(loss):
                            raise BadInput(_loss_lost(folder, state, loss, group, train_set))
                        stepper.step()
                        if not accelerator.optimizer_step_was_skipped:
                            schedule.step()
                        stepper.zero_grad()
                        state = _counted(state, loss, places)
                        folder.add_step(state, loss, rate, norm, places)
                        bar.step(loss=f"{loss:.4f}", lr=f"{rate:.1e}")
                        if state.step % settings.save_every == 0:
                            saving.save(state)
                        wish.check()
                say(f"{title}: average loss {state.loss_sum / state.places:.4f}")
                state = judge.end_epoch(state, wish)
                saving.save(state)
                folder.keep_best(state.best_epoch)
        except StopAsked:
            saving.save(state)
            raise stopped(folder, state, plan.steps) from None

    # report
    best = state.best_epoch or plan.epochs
    trained = folder.finish(best, "model" if settings.full else "adapter")
    if settings.merge and not settings.full:
        save_merged(model, trained, tokenizer, folder.path / "merged")
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
    )
    folder.write_report(report)
    _say_end(report)
    return report


def _folder(settings: LoraSft) -> tuple[RunFolder, LoraSft]:
    if settings.resume is not None:
        return settings_of(settings, settings.resume)
    path = settings.out or next_free(Path("runs"), "sft")
    check_free(path)
    return RunFolder(path), settings


def _trainable_model(settings: LoraSft, source: ModelSource) -> Any:
    model = load_model(source)
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
    choose_threads(settings.threads, count.all)
    what = "all weights" if settings.full else f"LoRA adapters of rank {settings.lora_r}"
    say(f"Training {what}: {count.trained:,} of {count.all:,} weights ({count.share:.1%})")
    return model


def _forward_backward(
    accelerator: Accelerator, loss_of: Any, batches: list[Batch], max_norm: float
) -> tuple[float, float, int]:
    """Loss and gradient norm of one optimizer step over its supervised places, and their count."""
    places = sum(supervised_places(batch["labels"]) for batch in batches)
    total = 0.0
    for batch in batches:
        loss = loss_of(**batch, places=places)
        accelerator.backward(loss)
        total += loss.item()
    norm = accelerator.clip_grad_norm_(loss_of.parameters(), max_norm)
    return total, float(norm), places


def _counted(state: Progress, loss: float, places: int) -> Progress:
    return replace(
        state,
        step=state.step + 1,
        step_in_epoch=state.step_in_epoch + 1,
        loss_sum=state.loss_sum + loss * places,
        places=state.places + places,
    )


def _gave_up(state: Progress, settings: LoraSft) -> bool:
    patience = settings.early_stopping
    if patience is None or state.epochs_without_gain < patience:
        return False
    say(f"Early stopping: F1 has not risen for {state.epochs_without_gain} epochs")
    return True


def _identity(
    settings: LoraSft, model: Any, train_set: TokenSet, held_out: TokenSet
) -> dict[str, str]:
    """What a checkpoint must share with the run that goes on from it."""
    aside = {"out", "resume", "log_every", "save_every"}
    counts = {name: value for name, value in as_dict(settings).items() if name not in aside}
    return {
        "settings": fingerprint(counts),
        "rows": fingerprint([t.ids for t in train_set.tokens], [t.ids for t in held_out.tokens]),
        "model": weights_fingerprint(model),
    }


def _to(accelerator: Accelerator, batch: Batch) -> Batch:
    return {name: tensor.to(accelerator.device) for name, tensor in batch.items()}


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
            Fix(f"The newest checkpoint is sound:  surefit sft --resume {folder.path}"),
        ],
    )


def _say_end(report: Report) -> None:
    if report.f1 is not None:
        before = "" if report.f1_before is None else f" (before training {report.f1_before:.4f})"
        say(f"Best epoch {report.best_epoch}: Average F1 Score = {report.f1:.4f}{before}")
    say(f"Trained weights: {report.trained}  ({report.seconds:.0f} s)")
