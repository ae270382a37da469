"""Pretraining on feature sequences: arrays -> batches -> model -> loss -> metrics -> report."""

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import torch

from surefit.data.features.folder import Shards
from surefit.data.features.layout import Kind
from surefit.data.features.loader import Batch, FeatureLoader
from surefit.data.features.loaders import loaders
from surefit.data.features.make import Source, make_features
from surefit.doctor.findings import Fact, Finding, Fix, Place
from surefit.doctor.rule import refusal
from surefit.errors import BadInput, refuse_if
from surefit.losses.features import FeatureLoss, Objective
from surefit.models.chatter import without_chatter
from surefit.models.encoders import encoder_config
from surefit.models.features import FeatureConfig, FeatureModel, around, put_back
from surefit.models.lora import count_trainable
from surefit.models.shards import is_sharded, whole_weights
from surefit.render.console import progress, say
from surefit.settings import as_dict
from surefit.signatures import takes
from surefit.train.arguments import settled
from surefit.train.arithmetic import choose_products, products_put_back, settled_precision
from surefit.train.checkpoint import Parts, checkpoints, fingerprint
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
from surefit.train.lost_process import noticing_death
from surefit.train.one_batch import one_batch, unused_parameters
from surefit.train.one_voice import only_first_speaks
from surefit.train.optimizer import adamw
from surefit.train.pace import StepClock, pace_of
from surefit.train.progress import Progress
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
from surefit.train.trackers import check_trackers, start_trackers
from surefit.train.watch import Part, Watch
from surefit.writing import new_folder, write_json

from .pretrain_report import Pretrained, PretrainReport, say_end
from .pretrain_settings import MADE, FeaturePretraining
from .pretrain_steps import Supervision, first_batches
from .shown_features import shown_features

LOSS_LOST = refusal("SF063", "feature-loss-became-nan", "The loss of a step is not a number.")
UNEVEN_RANKS = refusal(
    "SF064",
    "rows-not-shared-evenly",
    "The rows of a step cannot be divided evenly among the processes.",
)

ENCODER_FAILED = refusal(
    "SF068", "encoder-failed", "The encoder cannot be called with vectors instead of token ids."
)
ORDER_LOST = refusal("SF067", "order-of-rows-lost", "The order of a run's rows is not known.")

RECIPE = "pretrain"
ORDER = "order.json"
"""In the run folder: what decides the order of rows."""

MADE_ROWS = 5000
MADE_LAYOUT = {"steps": 20, "features": 271}


@takes(FeaturePretraining, "pretrain")
def run(model: Any = None, settings: FeaturePretraining | None = None, **names: Any) -> Pretrained:
    """Pretrains a transformer on feature sequences `[rows, steps, features]`.

    surefit.pretrain(data="arrays/", steps=30, features=12, epochs=3)

    `model` can be your own transformers model that accepts `inputs_embeds`. A projection and a head
    are added to it, and it is trained in place.
    """
    return train(settings or settled(FeaturePretraining, names), model)


@threads_put_back()
@products_put_back()
def train(settings: FeaturePretraining, model: Any = None) -> Pretrained:
    check_trackers(settings.report_to)
    with only_first_speaks(), shared_working_folder() as work:
        ranks = launched_ranks()
        folder, settings = ranks.first_does(partial(_folder, settings))
        if folder.is_done and not folder.extends:
            say(f"{folder.path} is complete; nothing to resume.")
            with leaving_page(folder, ranks):
                return _read_back(folder)
        with noticing_death(folder), sole_run(folder.path), leaving_page(folder, ranks):
            writer = replace(folder, writes=ranks.is_first)
            return _train(settings, model, work, writer, ranks)


def _train(
    settings: FeaturePretraining,
    own_model: Any,
    work: Path,
    folder: RunFolder,
    ranks: Ranks,
) -> Pretrained:
    began = time.monotonic()

    # arrays -> batches
    data = _data(settings, work)
    rows_per_step = _rows_per_step(settings, ranks)
    settings = replace(settings, rows_per_step=rows_per_step)
    opened = partial(
        loaders,
        data,
        rows_per_step,
        settings.max_memory_gb,
        steps=settings.steps,
        features=settings.features,
        dtype=settings.dtype,
        kind=settings.kind,
        held_out=settings.held_out,
        seed=settings.seed,
        workers=settings.readers,
        ids=None,
    )
    training, held_out, owner = opened(rank=ranks.rank, world=ranks.world)
    # What is free differs from process to process and from day to day; the order must not.
    order = ranks.first_does(partial(_order, settings, opened))
    training.load_state_dict(order)
    layout, kind = owner.layout, owner.kind
    say(str(owner))
    objective = Objective(kind, settings.causal)
    epoch_steps = len(training)
    steps = settings.epochs * epoch_steps
    steps = min(steps, settings.max_steps or steps)

    # model
    torch.manual_seed(settings.seed)
    model = _model(settings, own_model, layout, kind)
    loss_of: Any = FeatureLoss(model, objective).to(ranks.device)
    choose_threads(settings.threads, count_trainable(model).all)
    choose_products(model)
    precision = settled_precision(settings.precision, model, ranks, frozen=False)
    settings = replace(settings, precision=precision)
    accelerator = make_accelerator(precision)
    say(f"Using device: {describe_device(accelerator)}")
    supervision = Supervision(
        objective, settings.mask, settings.seed, rows_per_step, accelerator, ranks
    )
    first = supervision.given(next(iter(training)), 0, 0)
    with _as_finding(model):
        _freeze_unused(loss_of, first)
    count = count_trainable(model)
    say(f"Training {count.trained:,} weights, {_sized(model)}; loss: {objective}")
    trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
    optimizer = adamw(
        trained,
        accelerator,
        learning_rate=settings.learning_rate,
        weight_decay=settings.weight_decay,
    )
    schedule = linear_decay(optimizer, segment_steps(folder, steps), settings.warmup)
    identity = _identity(settings, owner.shards, model)

    # one batch there and back; stops here with a diagnosis
    loss_of, stepper = accelerator.prepare(loss_of, optimizer)
    model.train()
    first_loss, memory = one_batch(
        loss_of, first, learning_rate=settings.learning_rate, backward=accelerator.backward
    )
    say(f"Preflight: initial loss {first_loss:.4f}; a step needs {memory}")

    # the run folder is made only now: what cannot work has left nothing behind
    if settings.resume is None:
        ranks.first_does(partial(start_run, folder.path, as_dict(settings), RECIPE))
        ranks.first_does(partial(write_json, folder.path / ORDER, order))
    elif folder.extends:
        ranks.first_does(partial(begin_segment, folder, settings))
    say(f"Run folder: {folder.path}")
    ranks.first_does(
        lambda: begin_page(
            folder, shown_features(settings, owner, first, identity), describe_device(accelerator)
        )
    )
    trackers = start_trackers(settings.report_to, as_dict(settings), folder, ranks.is_first)
    folder = replace(folder, tell=trackers.add)
    if settings.resume is not None and not (folder.path / ORDER).exists():
        ranks.first_does(partial(write_json, folder.path / ORDER, order))
    saving = Saving(folder, Parts(model, optimizer, schedule, accelerator.scaler), identity, ranks)
    if ranks.world > 1:
        seed_rank(settings.seed, ranks.rank)
    state = saving.restore()
    if settings.resume:
        say_resumed(state, steps)
    classes = layout.features if kind is Kind.ONE_HOT else None
    watch = Watch(classes, Place(str(folder.path)))
    best_possible = supervision.best_possible(data, held_out)
    if best_possible is not None:
        say(
            f"Best possible loss on the held-out rows: {best_possible:.4f} (computed from the "
            "source)"
        )

    # loss -> metrics
    epoch_seconds: list[float] = []
    clock = StepClock()
    with trackers, stop_when_asked() as wish:
        try:
            if state.step == 0:
                _score(folder, state, 0, supervision.mean_loss(loss_of, held_out))
            # An epoch whose steps are done can still lack its evaluation.
            while state.step < steps or state.step_in_epoch:
                epoch_began = time.monotonic()
                title = f"Epoch {state.epoch + 1}/{math.ceil(steps / epoch_steps)}"
                in_epoch = min(epoch_steps, state.step_in_epoch + steps - state.step)
                left = in_epoch - state.step_in_epoch
                if left:
                    training.load_state_dict(
                        {**order, "epoch": state.epoch, "step": state.step_in_epoch}
                    )
                with progress(
                    title, in_epoch, done=state.step_in_epoch, log_every=settings.log_every
                ) as bar:
                    clock.start()
                    for batch in first_batches(training, left):
                        rate = float(schedule.get_last_lr()[0])
                        given = supervision.given(batch, state.epoch, state.step_in_epoch)
                        places = supervision.places(given)
                        loss = loss_of(**{**given, "places": places})
                        accelerator.backward(loss * ranks.world)
                        # Not the list of before: sharding puts others in their place.
                        norm = accelerator.clip_grad_norm_(
                            loss_of.parameters(), settings.max_grad_norm
                        )
                        own = float(given["attention_mask"].sum())
                        loss_sum, tokens = ranks.summed(float(loss.detach()), own)
                        if not math.isfinite(loss_sum):
                            _refuse_lost(folder, state, loss_sum, training, batch)
                        stepper.step()
                        if not accelerator.optimizer_step_was_skipped:
                            schedule.step()
                        stepper.zero_grad()
                        state = _counted(state, loss_sum, places)
                        watch.see(
                            state.step,
                            loss=loss_sum,
                            norm=float(norm),
                            cross_entropy=Part(loss_sum, 1.0),
                            skipped=accelerator.optimizer_step_was_skipped,
                        )
                        figures = clock.figures(int(tokens), places)
                        folder.add_step(state, loss_sum, rate, float(norm), places, **figures)
                        bar.step(loss=f"{loss_sum:.4f}", lr=f"{rate:.1e}")
                        if _evaluates(settings, state) and state.step_in_epoch < in_epoch:
                            _score(folder, state, None, supervision.mean_loss(loss_of, held_out))
                        if state.step % settings.save_every == 0:
                            saving.save(state)
                        if ranks.any(wish.asked):
                            raise StopAsked  # noqa: TRY301 - on all processes at the same step
                        clock.start()
                validation = supervision.mean_loss(loss_of, held_out)
                state = _end_epoch(state, validation)
                _score(folder, state, state.epoch, validation)
                if state.best_epoch == state.epoch:
                    weights = whole_weights(model, keep=ranks.is_first)
                    ranks.first_does(partial(_save, model, folder.best(state.epoch), weights))
                epoch_seconds.append(time.monotonic() - epoch_began)
                say(f"{title}: {_losses(state, validation)}, {epoch_seconds[-1]:.1f} s")
                saving.save(state)
                folder.keep_best(state.best_epoch)
        except StopAsked:
            saving.save(state)
            raise stopped(folder, state, steps) from None
        except BadInput:
            if ranks.world == 1 and state.step:  # others would wait in vain to save together
                saving.save(state)
            raise

    # report
    best = state.best_epoch or state.epoch
    place = folder.finish(best, "model")
    ranks.wait()
    if not is_sharded(model):
        put_back(model, place)
    score = folder.score_of(best)
    report = PretrainReport(
        folder=str(folder.path),
        trained=str(place),
        epochs=state.epoch,
        steps=state.step,
        best_epoch=best,
        train_loss=score.get("train_loss", state.epoch_loss),
        validation_loss=score.get("validation_loss"),
        validation_loss_before=folder.score_of(0).get("validation_loss"),
        best_possible=best_possible,
        seconds=time.monotonic() - began,
        seconds_per_epoch=float(np.mean(epoch_seconds)) if epoch_seconds else 0.0,
        training_rows=owner.split.trained,
        held_out_rows=owner.split.held_out,
        pace=pace_of(folder.metrics()),
    )
    folder.write_report(report)
    say_end(report)
    refuse_if(_nothing_gained(report))
    return Pretrained(model, report.train_loss, report.validation_loss, report.seconds_per_epoch)


def _folder(settings: FeaturePretraining) -> tuple[RunFolder, FeaturePretraining]:
    if settings.resume is not None:
        return settings_of(settings, settings.resume, RECIPE)
    path = settings.out or next_free(Path("runs"), RECIPE)
    check_free(path)
    return RunFolder(path, RECIPE), settings


def _data(settings: FeaturePretraining, work: Path) -> Path:
    if settings.data != MADE:
        return Path(settings.data).expanduser()
    source = Source(
        steps=settings.steps or MADE_LAYOUT["steps"],
        features=settings.features or MADE_LAYOUT["features"],
        kind=Kind(settings.kind or Kind.ONE_HOT),
        seed=settings.seed,
    )
    place = work / "made"
    make = partial(make_features, place, source, MADE_ROWS, 4, lambda _rows: None)
    say(f"Generating {MADE_ROWS:,} rows {source.layout}")
    first_here_then_others(make, lambda: None)
    return place


def _rows_per_step(settings: FeaturePretraining, ranks: Ranks) -> int:
    rows = settings.rows_per_step or settings.batch_size * ranks.world
    if rows % ranks.world == 0:
        return rows
    raise BadInput(
        UNEVEN_RANKS.finding(
            Place("settings"),
            f"{rows} rows to a step cannot be shared evenly by {ranks.world} processes.",
            fixes=[Fix(f"--rows-per-step {rows - rows % ranks.world or ranks.world}")],
        )
    )


def _model(settings: FeaturePretraining, own: Any, layout: Any, kind: Kind) -> FeatureModel:
    if own is not None:
        return around(own, layout, kind, causal=settings.causal)
    config = encoder_config(
        settings.encoder,
        layout,
        causal=settings.causal,
        width=settings.hidden_size,
        layers=settings.layers,
        heads=settings.heads,
        dropout=settings.dropout,
    )
    return FeatureModel(
        FeatureConfig(
            steps=layout.steps,
            features=layout.features,
            kind=str(kind),
            causal=settings.causal,
            encoder=config.to_dict(),
        )
    )


def _freeze_unused(loss_of: FeatureLoss, given: dict[str, Any]) -> None:
    """Weights that no loss reaches (a table of words, a pooler) stay as they are, on all ranks."""
    unused = set(unused_parameters(loss_of, given))
    for name, parameter in loss_of.named_parameters():
        if name in unused:
            parameter.requires_grad_(False)
    if unused:
        names = sorted(name.removeprefix("model.") for name in unused)
        more = f" and {len(names) - 4} more" if len(names) > 4 else ""
        say(
            f"Not trained, because the forward pass does not use them: {', '.join(names[:4])}{more}"
        )


@contextmanager
def _as_finding(model: FeatureModel) -> Iterator[None]:
    """An encoder of whatever kind can want what features do not have: ids, a second input."""
    try:
        yield
    except (RuntimeError, ValueError, TypeError, IndexError, AttributeError) as error:
        raise BadInput(
            ENCODER_FAILED.finding(
                Place("model"),
                f"`{type(model.encoder).__name__}` cannot be called with the projected features.",
                facts=[Fact("rows", str(model.config.layout))],
                fixes=[Fix("Use an encoder that only needs `inputs_embeds`, such as `bert`.")],
                python_said=f"{type(error).__name__}: {error}".splitlines()[0],
            )
        ) from error


def _sized(model: FeatureModel) -> str:
    projection = model.projection
    return (
        f"including projection {projection.in_features} → {projection.out_features}, "
        f"encoder {type(model.encoder).__name__}"
    )


def _nothing_gained(report: PretrainReport) -> list[Finding]:
    before, after = report.validation_loss_before, report.validation_loss
    if before is None or after is None or after < before or report.steps < ENOUGH_STEPS:
        return []
    return [
        nothing_gained(
            report.folder,
            f"The validation loss is {after:.4f} after {report.steps:,} steps, and was "
            f"{before:.4f} before the first.",
            [
                Fact("held-out rows", f"{report.held_out_rows:,}"),
                Fact("mean loss of the best epoch", f"{report.train_loss:.4f}"),
            ],
            "--epochs",
        )
    ]


def _evaluates(settings: FeaturePretraining, state: Progress) -> bool:
    every = settings.evaluate_every
    return every is not None and state.step % every == 0


def _score(folder: RunFolder, state: Progress, epoch: int | None, validation: float | None) -> None:
    """Without an epoch, of an evaluation within one."""
    if epoch is None and validation is None:
        return
    record: dict[str, Any] = {"step": state.step} | ({} if epoch is None else {"epoch": epoch})
    if epoch is None:
        say(f"Step {state.step}: validation loss {validation:.4f}")
    if epoch == 0 and validation is not None:
        say(f"Before training: validation loss {validation:.4f}")
    if epoch:
        record["train_loss"] = state.epoch_loss
    if validation is not None:
        record["validation_loss"] = validation
    folder.add(record)


def _counted(state: Progress, loss: float, places: int) -> Progress:
    return replace(
        state,
        step=state.step + 1,
        step_in_epoch=state.step_in_epoch + 1,
        loss_sum=state.loss_sum + loss * places,
        places=state.places + places,
    )


def _end_epoch(state: Progress, validation: float | None) -> Progress:
    """Of equal epochs the later is the best, and without held-out rows the newest."""
    score = None if validation is None else -validation
    best = score is None or state.best_score is None or score >= state.best_score
    return replace(
        state,
        epoch=state.epoch + 1,
        best_epoch=state.epoch + 1 if best else state.best_epoch,
        best_score=score if best else state.best_score,
        step_in_epoch=0,
        loss_sum=0.0,
        places=0,
        epoch_loss=state.loss_sum / state.places,
    )


def _losses(state: Progress, validation: float | None) -> str:
    held_out = "" if validation is None else f", average validation loss {validation:.4f}"
    return f"average train loss {state.epoch_loss:.4f}{held_out}"


def _order(settings: FeaturePretraining, opened: Callable[..., Any]) -> dict[str, int | str]:
    """What decides the order of rows: as it was when the run began, or as one process would."""
    file = (settings.resume or Path()) / ORDER
    if settings.resume is None or not (file.exists() or checkpoints(file.parent / "checkpoints")):
        first: dict[str, int | str] = opened(rank=0, world=1)[0].state_dict()
        return first
    try:
        return msgspec.json.decode(file.read_bytes(), type=dict[str, int | str])
    except (OSError, msgspec.DecodeError) as error:
        raise BadInput(_order_lost(file, f"{type(error).__name__}: {error}")) from error


def _order_lost(file: Path, said: str) -> Finding:
    return ORDER_LOST.finding(
        Place(str(file)),
        "The row order of this run is unknown, so it cannot be resumed.",
        fixes=[Fix("Start a new run with another `--out`.")],
        python_said=said,
    )


def _identity(settings: FeaturePretraining, data: Shards, model: FeatureModel) -> dict[str, str]:
    """What a checkpoint must share with the run that goes on from it."""
    aside = {"out", "resume", "log_every", "save_every", "batch_size", "readers", "max_memory_gb"}
    aside |= {*lengths_of(RECIPE)}
    counts = {name: value for name, value in as_dict(settings).items() if name not in aside}
    shapes = [(name, list(one.shape)) for name, one in model.named_parameters()]
    files = [(one.name, one.rows, one.size) for one in data.shards]
    return {
        "settings": fingerprint(counts),
        "rows": fingerprint(files),
        "model": fingerprint(shapes),
    }


def _refuse_lost(
    folder: RunFolder, state: Progress, loss: float, training: FeatureLoader, batch: Batch
) -> None:
    """By the rows that are not finite; only where all are, by the loss."""
    rows = list(training.not_finite_in(batch, state.epoch, state.step_in_epoch))
    raise BadInput(*rows or [_loss_lost(folder, state, loss)])


def _loss_lost(folder: RunFolder, state: Progress, loss: float) -> Finding:
    return LOSS_LOST.finding(
        Place(str(folder.path)),
        f"The loss of step {state.step + 1} is {loss}; the run stopped before that step.",
        facts=[Fact("steps done", str(state.step))],
        why="One more step would have made every trained weight NaN.",
        fixes=[
            Fix("Start again with a lower `--learning-rate`, or with `--precision fp32`."),
            *from_newest(folder),
        ],
    )


def _save(model: FeatureModel, place: Path, weights: dict[str, Any] | None) -> None:
    with new_folder(place) as side, without_chatter():
        model.save_pretrained(side, state_dict=weights)


def _read_back(folder: RunFolder) -> Pretrained:
    report = folder.read_report_as(PretrainReport)
    refuse_if(_nothing_gained(report))
    model = FeatureModel.from_pretrained(report.trained)
    return Pretrained(model, report.train_loss, report.validation_loss, report.seconds_per_epoch)
