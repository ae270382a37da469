"""Source -> rows -> tokens for fine-tuning, and what the user is told on the way."""

from collections.abc import Sequence
from dataclasses import dataclass

from surefit.data.augment import augment
from surefit.data.bad_rows import grouped
from surefit.data.order import epoch_batches, padding_waste
from surefit.data.rows import Fields, Row, RowSet, read_rows
from surefit.data.split import Split, split
from surefit.data.templates import Tokenizer, choose_template
from surefit.data.tokens import RowTokenizer, TokenSet, tokenize
from surefit.errors import refuse_if
from surefit.render.console import progress, say

from .sft_settings import LoraSft


@dataclass(frozen=True, slots=True)
class PartedRows:
    """The rows of a source, checked and split; those to train on are augmented."""

    source: RowSet
    split: Split
    train: tuple[Row, ...]


def part_rows(settings: LoraSft) -> PartedRows:
    """Split first, so that no copy of a held-out row is trained on; needs no torch."""
    read = read_rows(
        settings.data,
        Fields(settings.input_field, settings.target_field),
        skip_bad_rows=settings.skip_bad_rows,
    )
    parts = split(read.rows, settings.held_out, settings.seed)
    more = augment(parts.train, settings.augmentation_factor, settings.seed, settings.augment_with)
    return PartedRows(read, parts, more)


def say_parted(settings: LoraSft, rows: PartedRows) -> None:
    read, parts, factor = rows.source, rows.split, settings.augmentation_factor
    for note in read.notes:
        say(note)
    say(f"Rows: {len(read.rows)} from {read.source}, kind {read.kind}{_skipped(read.skipped)}")
    if factor > 1:
        say(f"Applying data augmentation with factor {factor} to the training rows alone")
        say(f"Original dataset size: {len(parts.train)}")
        say(f"Augmented dataset size: {len(rows.train)}")
    say(f"Training on {len(rows.train)} examples")
    say(f"Validating on {len(parts.held_out)} examples{_why_so_few(settings, len(read.rows))}")
    say(
        "Split by source row, duplicates on one side: "
        f"{parts.leaks_avoided} leaks into validation avoided"
    )
    if parts.short_by:
        say(
            f"{parts.wanted} rows were to be held out; {parts.short_by} fewer are, because groups "
            "of duplicates are not torn apart"
        )


def tokenize_rows(
    settings: LoraSft, rows: PartedRows, tokenizer: Tokenizer
) -> tuple[TokenSet, TokenSet]:
    """Rows to train on and held-out rows as tokens."""
    template = choose_template(settings.template, tokenizer)
    to_tokens = RowTokenizer(
        tokenizer, template, settings.max_tokens, loss_on_all=settings.loss_on == "all"
    )
    train_set = _tokenize(rows.train, to_tokens, settings, "Tokenizing training rows")
    held_out = _tokenize(rows.split.held_out, to_tokens, settings, "Tokenizing held-out rows")
    _say_tokens(settings, train_set)
    return train_set, held_out


def _tokenize(
    rows: Sequence[Row], to_tokens: RowTokenizer, settings: LoraSft, title: str
) -> TokenSet:
    with progress(title, len(rows)) as bar:
        tokens = tokenize(rows, to_tokens, bar.step)
    if tokens.bad:
        findings = grouped(tokens.bad, len(rows))
        if not settings.skip_bad_rows or not len(tokens):
            refuse_if(findings)
        for finding in findings:
            say(f"Left out: {finding.headline}")
    return tokens


def _say_tokens(settings: LoraSft, rows: TokenSet) -> None:
    lengths = [len(tokens.ids) for tokens in rows.tokens]
    supervised = sum(tokens.supervised for tokens in rows.tokens)
    say(
        f"Tokens: {sum(lengths):,} in all, {max(lengths)} in the longest row, "
        f"{supervised / sum(lengths):.1%} of them in the loss"
    )
    cut = sum(tokens.cut > 0 for tokens in rows.tokens)
    if cut:
        say(
            f"Longer than {settings.max_tokens} tokens: {cut} of {len(rows)} rows lost the "
            "beginning of their prompt; every target is whole and ends with EOS"
        )
    order = epoch_batches(lengths, settings.batch_size, settings.seed, 0, bucket=settings.bucket)
    say(f"Batches: {len(order)} an epoch, {padding_waste(lengths, order):.1%} padding")


def _why_so_few(settings: LoraSft, rows: int) -> str:
    if settings.augmentation_factor == 1 or not settings.held_out:
        return ""
    more = round(rows * settings.held_out) * settings.augmentation_factor
    return f", not {more}: held out before augmentation, so that no copy of them is trained on"


def _skipped(count: int) -> str:
    return f"; {count} bad rows left out" if count else ""
