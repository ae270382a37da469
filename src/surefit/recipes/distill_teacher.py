"""Who teaches: a loaded teacher, its routers led or left alone, or what was kept of one."""

from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import torch
from accelerate import Accelerator

from surefit.data.templates import Tokenizer
from surefit.data.tokens import TokenSet
from surefit.doctor.findings import COMMAND_LINE, Finding, Fix
from surefit.doctor.rule import refusal
from surefit.errors import WrongCall
from surefit.losses.places import Places
from surefit.losses.student import Batch
from surefit.losses.teacher import FromHidden, TopK
from surefit.models.load import ModelSource, find_model, load_tokenizer
from surefit.models.router_training import RouterTraining
from surefit.models.routers import Augmented, Router, all_experts, find_routers
from surefit.models.vocabulary import shared_tokens
from surefit.models.weight_files import weights_fingerprint_of
from surefit.render.console import progress, say
from surefit.train.checkpoint import fingerprint
from surefit.train.ranks import ranks_of
from surefit.train.teacher import Teacher, load_teacher
from surefit.train.teacher_cache import (
    CacheIdentity,
    is_teacher_cache,
    open_teacher_cache,
)
from surefit.train.teacher_cache_writer import Pass, check_cache_folder, write_teacher_cache

from .distill_kept import HELD_OUT, TRAINING, Kept
from .distill_settings import LEARNING_RATE, Distillation, with_defaults

NOT_TOGETHER = refusal("SF082", "settings-exclude-each-other", "Two settings exclude each other.")

DTYPES = {"fp32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}


@dataclass(frozen=True, slots=True)
class Teaching:
    """What is said to the student, in training and when it is judged."""

    tokens: int
    """Rows of both heads that are tokens."""

    fingerprint: str
    teacher: Teacher | None
    """None where what was kept of it is enough."""

    kept: Kept | None = None
    routers: list[Router] = field(default_factory=list)
    """Those that have a part in training; none where the teacher is taken as it is."""

    training: RouterTraining | None = None
    augmented: Augmented | None = None

    @property
    def routed(self) -> bool:
        return bool(self.routers)

    @property
    def passes(self) -> int:
        """Of the teacher that were executed."""
        return 0 if self.teacher is None else self.teacher.forwards

    @property
    def models(self) -> list[Any]:
        """Those that read the rows themselves."""
        return [] if self.teacher is None else [self.teacher.model]

    def begin_step(self, seed: int, number: int) -> None:
        """What is drawn in a step follows from its number, however the run came to it."""
        if self.augmented is not None:
            self.augmented.numbers.manual_seed(1_000_003 * seed + number)

    def voice(self, batch: Batch, places: Places) -> FromHidden | TopK:
        """In training."""
        if self.kept is not None:
            return self.kept.of(TRAINING, batch, places)
        if self.augmented is not None:
            with self.augmented.once():
                return self._said(batch, places)
        return self.with_all(batch, places) if self.routed else self._said(batch, places)

    def own_voice(self, batch: Batch, places: Places) -> FromHidden | TopK:
        """The teacher as it was loaded, whatever training has done to its routers; of held-out
        rows."""
        if self.kept is not None:
            return self.kept.of(HELD_OUT, batch, places)
        with nullcontext() if self.training is None else self.training.own_routers():
            return self._said(batch, places)

    def with_all(self, batch: Batch, places: Places) -> FromHidden | TopK:
        """With all experts of every layer."""
        with all_experts(self.routers):
            return self._said(batch, places)

    def with_graph(self, batch: Batch, places: Places) -> FromHidden:
        """For the routers, while these take gradients."""
        assert self.teacher is not None
        with torch.autocast(batch["input_ids"].device.type, enabled=False):
            return self.teacher.read_with_graph(batch, places, self.tokens)

    def _said(self, batch: Batch, places: Places) -> FromHidden:
        assert self.teacher is not None
        # In its own precision, whatever the student's passes are made in.
        with torch.autocast(batch["input_ids"].device.type, enabled=False):
            return self.teacher.read(batch, places, self.tokens)


def teaching_for(
    settings: Distillation,
    tokenizer: Tokenizer,
    student: Any,
    rows: Mapping[str, TokenSet],
    accelerator: Accelerator,
    work: Path,
) -> Teaching:
    """Loads the teacher, or what was kept of it, and says what it is."""
    source = find_model(settings.teacher_model, trust_remote_code=settings.trust_remote_code)
    student_rows = student.get_output_embeddings().weight.shape[0]
    if settings.cache_teacher is not None and is_teacher_cache(settings.cache_teacher):
        tokens = shared_tokens(tokenizer, tokenizer, student_rows, student_rows)
        return _from_cache(
            settings.cache_teacher, _identity(settings, source, rows, tokenizer, tokens)
        )
    if settings.cache_teacher is not None:
        check_cache_folder(settings.cache_teacher)
    say(f"Loading teacher: {settings.teacher_model}")
    of_teacher = load_tokenizer(source, settings.pad_token)
    dtype = _dtype(settings)
    # Each process its own: what one writes there, the others must not find half-written.
    aside = work / f"teacher-{accelerator.process_index}"
    teacher = load_teacher(source, dtype, accelerator.device, settings.offload_teacher, aside)
    tokens = shared_tokens(of_teacher, tokenizer, teacher.rows, student_rows)
    weights = sum(parameter.numel() for parameter in teacher.model.parameters())
    held = str(dtype).removeprefix("torch.")
    say(f"Teacher: {weights:,} weights in {held}, frozen, {teacher.where}")
    _say_widths(tokens, teacher.rows, student_rows)
    if settings.cache_teacher is not None:
        identity = _identity(settings, source, rows, tokenizer, tokens)
        ranks_of(accelerator).first_does(
            lambda: _keep(settings, teacher, identity, rows, tokenizer, accelerator)
        )
        return _from_cache(settings.cache_teacher, identity)
    teaching = Teaching(tokens, weights_fingerprint_of(source) or source.location, teacher)
    return teaching if settings.router == "none" else _routed(settings, teaching, teacher)


def _say_widths(tokens: int, teacher_rows: int, student_rows: int) -> None:
    if teacher_rows == student_rows == tokens:
        return
    say(
        f"Vocabulary: {tokens:,} tokens, shared by both; the padding rows of the teacher's head "
        f"({teacher_rows:,} rows) and of the student's ({student_rows:,} rows) are ignored"
    )


def _identity(
    settings: Distillation,
    source: ModelSource,
    rows: Mapping[str, TokenSet],
    tokenizer: Tokenizer,
    tokens: int,
) -> CacheIdentity:
    temperature = with_defaults(settings, routed=False).temperature or 1.0
    return CacheIdentity.of(source, tokenizer, rows, tokens, settings.top_k, temperature)


def _from_cache(folder: Path, identity: CacheIdentity) -> Teaching:
    cache = open_teacher_cache(folder, identity)
    say(
        f"Teacher: outputs of `{identity.teacher}`, top {identity.k} tokens per position, read "
        f"from {folder}; the teacher itself is not loaded"
    )
    kept = Kept(cache, identity.tokens, identity.temperature)
    say(
        f"At temperature {identity.temperature:g} these tokens have {kept.share():.1%} of the "
        "probability (mean over the positions of one held-out row)"
    )
    return Teaching(identity.tokens, fingerprint(asdict(identity)), None, kept)


def _keep(
    settings: Distillation,
    teacher: Teacher,
    identity: CacheIdentity,
    rows: Mapping[str, TokenSet],
    tokenizer: Tokenizer,
    accelerator: Accelerator,
) -> None:
    assert settings.cache_teacher is not None
    once = Pass(teacher, identity, tokenizer.pad_token_id, settings.batch_size, accelerator.device)
    with progress("Running the teacher", sum(map(len, rows.values()))) as bar:
        write_teacher_cache(settings.cache_teacher, rows, once, bar.step)
    say(f"Teacher outputs written to {settings.cache_teacher}: {teacher.forwards:,} forward passes")


def _routed(settings: Distillation, teaching: Teaching, teacher: Teacher) -> Teaching:
    routers = find_routers(teacher.model)
    if not routers:
        say(
            f"`{settings.teacher_model}` is a dense model without routers, so "
            f"`--router {settings.router}` does not apply. Continuing with plain distillation."
        )
        return teaching
    experts = sorted({(router.experts, router.used) for router in routers})
    told = ", ".join(f"{count} experts, {used} active" for count, used in experts)
    say(f"Routers: {len(routers)} layers with {told}; `--router {settings.router}` is experimental")
    if settings.router == "ka":
        augmented = Augmented(routers, settings.by_chance)
        return replace(teaching, routers=routers, augmented=augmented)
    rate = settings.router_lr or settings.learning_rate or LEARNING_RATE
    return replace(teaching, routers=routers, training=RouterTraining(routers, rate))


def _dtype(settings: Distillation) -> torch.dtype:
    """As the student computes, unless something else was asked."""
    settled = with_defaults(settings, routed=False)
    asked = settled.precision if settled.teacher_dtype == "auto" else settled.teacher_dtype
    dtype = DTYPES[asked]
    if settings.router == "sar" and dtype == torch.float16:
        say(
            "The teacher is loaded in float32, because its router gradients would underflow in "
            "float16."
        )
        return torch.float32
    return dtype


def check_together(settings: Distillation) -> None:
    """Raises `WrongCall` for settings of which one makes the other impossible."""
    routed, on_policy = settings.router != "none", settings.on_policy or 0.0
    if settings.cache_teacher is not None and routed:
        raise WrongCall(
            _not_together(
                f"`--cache-teacher` stores the teacher's outputs once, but `--router "
                f"{settings.router}` changes them in every step.",
                "Use only one of the two flags.",
            )
        )
    if settings.cache_teacher is not None and on_policy > 0:
        raise WrongCall(
            _not_together(
                "`--cache-teacher` stores outputs for the rows of the dataset only, but with "
                f"`--on-policy {on_policy:g}` the student generates other rows.",
                "Use only one of the two flags.",
            )
        )
    if settings.offload_teacher != "none" and settings.router == "sar":
        raise WrongCall(
            _not_together(
                "`--router sar` trains routers inside the teacher, and `--offload-teacher "
                f"{settings.offload_teacher}` takes its layers away after each pass.",
                "Leave `--offload-teacher` out, or take `--router ka`, which trains none.",
            )
        )
    if settings.compare and not routed:
        raise WrongCall(
            _not_together(
                "`--compare` trains once more without the router's part, and this run has none.",
                "Add `--router sar` or `--router ka`, or leave `--compare` out.",
            )
        )


def check_shards(settings: Distillation, *, sharded: bool) -> None:
    """Raises `WrongCall` where a sharded student would have to write by itself."""
    if sharded and (settings.on_policy or 0.0) > 0:
        raise WrongCall(
            _not_together(
                f"`--on-policy {settings.on_policy:g}` lets the student write other answers in "
                "each process, and FSDP needs all processes in every pass.",
                "Leave `--on-policy` out (a router asks for it), or train without FSDP.",
            )
        )


def _not_together(headline: str, fix: str) -> Finding:
    return NOT_TOGETHER.finding(COMMAND_LINE, headline, fixes=[Fix(fix)])
