"""Source -> rows -> tokens for language models, and what the user is told on the way."""

import shutil
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Protocol, TypeVar

import msgspec

from surefit.data.arrow_files import ArrowFile, room_for
from surefit.data.augment import augment
from surefit.data.in_memory import STORED, store_rows
from surefit.data.known_rows import ABOUT, DIGESTS, known_rows, write_known_rows
from surefit.data.made import Chosen
from surefit.data.peak_memory import peak_memory
from surefit.data.row_store import StoredRows, stored_at
from surefit.data.rows import Fields, Kind, Row, RowSet, read_rows
from surefit.data.sources import count_rows
from surefit.data.split import Split, split
from surefit.data.templates import Tokenizer, choose_template, settle_template
from surefit.data.text_tokens import tokenize_texts
from surefit.data.tokens import RowTokenizer, TokenSet, tokenize
from surefit.data.validation_rows import split_off
from surefit.doctor.findings import COMMAND_LINE, Finding, Fix
from surefit.doctor.rule import refusal
from surefit.errors import WrongCall, refuse_if
from surefit.render.console import progress, say
from surefit.train.arguments import settled
from surefit.train.first_here import first_here_then_others
from surefit.train.shared_work import shared_working_folder
from surefit.writing import copy_file, writing

NOISE_IN_TEXTS = refusal(
    "SF084", "noise-in-texts", "Noise in a plain text would be learned as text."
)

OTHER_KIND = refusal(
    "SF148",
    "validation-of-another-kind",
    "Rows to validate on are of another kind than the others.",
)

CONTENTS = "prepared.json"
AnySettings = TypeVar("AnySettings")

IN_MEMORY = "in-memory"
"""As settings name rows that no file held."""

VALIDATION = "validation-rows.arrow"
MANY_ROWS = 100_000
"""From so many on it is said what it cost to prepare them."""


class RowSettings(Protocol):
    """What settings of a recipe say of its rows, under these names."""

    @property
    def data(self) -> str: ...
    @property
    def eval_data(self) -> str | None:
        """Rows to validate on; None where some of `data` are held out."""
        ...

    @property
    def input_field(self) -> str: ...
    @property
    def target_field(self) -> str: ...
    @property
    def text_field(self) -> str | None:
        """The column of plain texts; None where there must be answers."""
        ...

    @property
    def numbers_as_text(self) -> bool: ...
    @property
    def template(self) -> str: ...
    @property
    def loss_on(self) -> str: ...
    @property
    def held_out(self) -> float: ...
    @property
    def augmentation_factor(self) -> int: ...
    @property
    def augment_with(self) -> str | None: ...
    @property
    def skip_bad_rows(self) -> bool: ...
    @property
    def max_tokens(self) -> int: ...
    @property
    def seed(self) -> int: ...


@dataclass(frozen=True, slots=True)
class PartedRows:
    """The rows of a source, checked and split; those to train on are augmented."""

    source: RowSet
    split: Split
    train: Sequence[Row]
    seconds: float = 0.0
    """How long that took."""

    validation: RowSet | None = None
    """Where the rows to validate on come from, if not from `source`."""


@dataclass(frozen=True, slots=True)
class Prepared:
    """Rows as tokens, to train on and held out, and the name of the template they came by."""

    train_set: TokenSet
    held_out: TokenSet
    template: str


@dataclass(frozen=True, slots=True)
class Contents:
    """What another process must know to open a folder of prepared rows."""

    rows: str
    template: str
    factor: int
    seed: int
    augment_with: str | None
    held_out_rows: str | None = None
    """The rows that some are held out of, if not `rows`."""


@contextmanager
def settings_and_rows(
    kind: type[AnySettings], given: Mapping[str, Any]
) -> Iterator[tuple[AnySettings, Path | None]]:
    """The settings, and the working folder where their rows were stored if these were in memory."""
    data = given.get("data")
    if data is None or isinstance(data, str | Path):
        named = given if data is None else {**given, "data": str(data)}
        yield settled(kind, named), None
        return
    settings = settled(kind, {**given, "data": IN_MEMORY})
    with shared_working_folder() as work:
        first_here_then_others(partial(store_rows, data, work / STORED), lambda: None)
        yield settings, work


def source_of(settings: RowSettings, work: Path | None = None, run: Path | None = None) -> str:
    """What to read: for rows in memory the file where they were stored, in the working folder or
    beside the run."""
    if settings.data != IN_MEMORY:
        return settings.data
    places = [folder / STORED for folder in (work, run) if folder is not None]
    return str(next((path for path in places if path.exists()), settings.data))


def prepare(
    settings: RowSettings,
    tokenizer: Tokenizer,
    folder: Path,
    rows: PartedRows | None = None,
    run: Path | None = None,
) -> Prepared:
    """Reads rows, unless they were parted under these settings already, and makes them tokens.

    `run` is the folder of a run that goes on, which can hold the rows that it was started with.
    The folder then holds all that `open_prepared` needs, in this process or in another one of the
    same machine; it must stay as long as the result is used.
    """
    began = time.monotonic()
    rows = rows or part_rows(settings, folder, run)
    template = settle_template(settings.template, rows.source.kind, tokenizer)
    say_parted(settings, rows)
    train_set, held_out = tokenize_rows(settings, rows, template, tokenizer, folder)
    _write_contents(folder, settings, rows, template)
    with room_for(folder / DIGESTS):
        write_known_rows(folder, known_rows(rows.split.train, rows.source.kind))
    seconds = rows.seconds + time.monotonic() - began
    if len(rows.train) >= MANY_ROWS:
        _say_cost(train_set, held_out, seconds)
    return Prepared(train_set, held_out, template)


def open_prepared(folder: Path) -> Prepared:
    """What `prepare` made in this folder."""
    contents = msgspec.json.decode((folder / CONTENTS).read_bytes(), type=Contents)
    rows = held_out_rows = StoredRows(ArrowFile(Path(contents.rows)))
    if contents.held_out_rows is not None:
        held_out_rows = StoredRows(ArrowFile(Path(contents.held_out_rows)))
    train = augment(
        _side(rows, folder, "train"), contents.factor, contents.seed, contents.augment_with
    )
    return Prepared(
        TokenSet(train, ArrowFile(folder / "train.arrow")),
        TokenSet(_side(held_out_rows, folder, "held_out"), ArrowFile(folder / "held_out.arrow")),
        contents.template,
    )


def keep_rows(settings: RowSettings, work: Path, run: Path) -> None:
    """In the run folder: the digests of rows that are trained on, and rows that were in memory, so
    that the run can go on."""
    with writing(run):
        for name in (ABOUT, DIGESTS):
            shutil.copyfile(work / name, run / name)
    if settings.data == IN_MEMORY:
        copy_file(work / STORED, run / STORED)


def part_rows(
    settings: RowSettings, folder: Path | None = None, run: Path | None = None
) -> PartedRows:
    """Split first, so that no copy of a held-out row is trained on; needs no torch.

    The rows lie in the folder, or in memory if there is none.
    """
    began = time.monotonic()
    source = source_of(settings, folder, run)
    with progress("Reading rows", count_rows(source)) as bar:
        read = read_rows(
            source,
            columns_of(settings),
            skip_bad_rows=settings.skip_bad_rows,
            store=folder and folder / "rows.arrow",
            each=bar.step,
        )
    validation = None if settings.eval_data is None else _read_validation(settings, read, folder)
    together = len(read.rows) + (len(validation.rows) if validation else 0)
    with progress("Finding duplicates", together) as bar:
        if validation is None:
            parts = split(read.rows, settings.held_out, settings.seed, bar.step)
        else:
            parts = split_off(read.rows, validation.rows, validation.source, bar.step)
    if read.kind == "text" and settings.augmentation_factor > 1:
        raise WrongCall(_no_noise(settings))
    more = augment(parts.train, settings.augmentation_factor, settings.seed, settings.augment_with)
    return PartedRows(read, parts, more, time.monotonic() - began, validation)


def columns_of(settings: RowSettings) -> Fields:
    return Fields(
        settings.input_field,
        settings.target_field,
        settings.text_field,
        settings.numbers_as_text,
    )


def _read_validation(settings: RowSettings, train: RowSet, folder: Path | None) -> RowSet:
    assert settings.eval_data is not None
    with progress("Reading validation rows", count_rows(settings.eval_data)) as bar:
        read = read_rows(
            settings.eval_data,
            columns_of(settings),
            skip_bad_rows=settings.skip_bad_rows,
            store=folder and folder / VALIDATION,
            each=bar.step,
        )
    if (read.kind == "text") != (train.kind == "text"):
        raise WrongCall(_other_kind(settings, train, read))
    return read


def say_parted(settings: RowSettings, rows: PartedRows) -> None:
    read, parts, factor = rows.source, rows.split, settings.augmentation_factor
    for note in read.notes:
        say(note)
    say(f"Rows: {len(read.rows)} from {read.source}, kind {read.kind}{_skipped(read.skipped)}")
    if factor > 1:
        say(f"Applying data augmentation with factor {factor} to the training rows only")
        say(f"Original dataset size: {len(parts.train)}")
        say(f"Augmented dataset size: {len(rows.train)}")
    say(f"Training on {len(rows.train)} examples")
    if rows.validation is not None:
        say(f"Validating on all {len(parts.held_out)} examples of {rows.validation.source}")
        if parts.leaks_avoided:
            say(
                "Duplicates of validation rows removed from the training rows: "
                f"{parts.leaks_avoided}"
            )
        return
    say(f"Validating on {len(parts.held_out)} examples{_why_so_few(settings, len(read.rows))}")
    say(
        f"Duplicates are kept on one side of the split: {parts.leaks_avoided} leaks into "
        "validation avoided"
    )
    if parts.short_by:
        say(
            f"{parts.short_by} rows fewer than requested ({parts.wanted}) are held out, because "
            "groups of duplicates are not split"
        )


def tokenize_rows(
    settings: RowSettings,
    rows: PartedRows,
    template: str,
    tokenizer: Tokenizer,
    folder: Path | None = None,
) -> tuple[TokenSet, TokenSet]:
    """Rows to train on and held-out rows as tokens, in the folder or in memory."""
    train_set, held_out = (
        _tokenize(some, settings, rows.source.kind, template, tokenizer, folder, name)
        for some, name in ((rows.train, "train"), (rows.split.held_out, "held_out"))
    )
    _say_tokens(settings, train_set)
    return train_set, held_out


def _tokenize(
    rows: Sequence[Row],
    settings: RowSettings,
    kind: Kind,
    template: str,
    tokenizer: Tokenizer,
    folder: Path | None,
    name: str,
) -> TokenSet:
    store = folder and folder / f"{name}.arrow"
    title = {"train": "Tokenizing training rows", "held_out": "Tokenizing held-out rows"}[name]
    with progress(title, len(rows)) as bar:
        if kind == "text":
            return tokenize_texts(rows, tokenizer, settings.max_tokens, bar.step, store=store)
        chosen = choose_template(template, tokenizer)
        on_all = settings.loss_on == "all"
        to_tokens = RowTokenizer(tokenizer, chosen, settings.max_tokens, loss_on_all=on_all)
        tokens = tokenize(rows, to_tokens, bar.step, store=store)
    if len(tokens.bad):
        findings = tokens.bad.findings(len(rows))
        if not settings.skip_bad_rows or not len(tokens):
            refuse_if(findings)
        for finding in findings:
            say(f"Skipped: {finding.headline}")
    return tokens


def _write_contents(folder: Path, settings: RowSettings, rows: PartedRows, template: str) -> None:
    import numpy as np

    contents = Contents(
        str(stored_at(rows.source.rows, folder).absolute()),
        template,
        settings.augmentation_factor,
        settings.seed,
        settings.augment_with,
        None
        if rows.validation is None
        else str(stored_at(rows.validation.rows, folder, VALIDATION).absolute()),
    )
    with room_for(folder / CONTENTS):
        np.save(folder / "train.npy", rows.split.train.places)
        np.save(folder / "held_out.npy", rows.split.held_out.places)
        (folder / CONTENTS).write_bytes(msgspec.json.encode(contents))


def _side(rows: Sequence[Row], folder: Path, name: str) -> Chosen[Row]:
    import numpy as np

    return Chosen(rows, np.load(folder / f"{name}.npy"))


def _say_cost(train_set: TokenSet, held_out: TokenSet, seconds: float) -> None:
    rows = len(train_set) + len(held_out)
    tokens = int(train_set.lengths.sum() + held_out.lengths.sum())
    say(
        f"Prepared {rows:,} rows with {tokens:,} tokens in {seconds:,.0f} s; peak memory "
        f"{peak_memory() / 1e6:,.0f} MB"
    )


def _say_tokens(settings: RowSettings, rows: TokenSet) -> None:
    lengths = rows.lengths.tolist()
    supervised = int(rows.supervised.sum())
    say(
        f"Tokens: {sum(lengths):,}, at most {max(lengths)} per row, "
        f"{supervised / sum(lengths):.1%} supervised"
    )
    cut = int((rows.cuts > 0).sum())
    if cut:
        say(
            f"Truncated to {settings.max_tokens} tokens: the prompts of {cut} of {len(rows)} rows, "
            "on the left; every target is complete and ends with EOS"
        )


def _why_so_few(settings: RowSettings, rows: int) -> str:
    if settings.augmentation_factor == 1 or not settings.held_out:
        return ""
    more = round(rows * settings.held_out) * settings.augmentation_factor
    return f", not {more}: they are held out before augmentation, so no copy of them is trained on"


def _skipped(count: int) -> str:
    return f"; {count} bad rows skipped" if count else ""


def _other_kind(settings: RowSettings, train: RowSet, read: RowSet) -> Finding:
    return OTHER_KIND.finding(
        COMMAND_LINE,
        f"`{settings.eval_data}` holds rows of kind {read.kind}, and `{settings.data}` rows of "
        f"kind {train.kind}.",
        why="The loss is computed on every token of plain texts, but only on the answers of other "
        "rows, so the two losses cannot be compared.",
        fixes=[Fix("Use rows of the same kind for `--eval-data` and `--data`.")],
    )


def _no_noise(settings: RowSettings) -> Finding:
    return NOISE_IN_TEXTS.finding(
        COMMAND_LINE,
        f"`--augmentation-factor {settings.augmentation_factor}` adds spelling noise to prompts, "
        f"but `{settings.data}` holds plain texts.",
        why="Every token of a plain text is supervised, so the model would learn the noise.",
        fixes=[Fix("Remove `--augmentation-factor`.")],
    )
