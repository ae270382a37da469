"""`surefit inspect`."""

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from functools import partial
from typing import Annotated, Literal

from cyclopts import Parameter

from surefit.data.inspect_rows import Tokenized, examples, inspect_rows, tokenize_within
from surefit.data.inspection import Example, Inspection
from surefit.data.rows import Fields, RowSet, read_rows
from surefit.data.split import Split, split
from surefit.data.templates import Tokenizer, choose_template, settle_template
from surefit.data.tokens import RowTokenizer, check_tokenizer
from surefit.doctor.findings import Finding
from surefit.errors import BadInput
from surefit.metrics.answers import token_f1
from surefit.models.load import find_model, load_tokenizer
from surefit.render import console, inspection, outcome
from surefit.render.json_document import Json
from surefit.settings import as_dict, at_least, between, check


@dataclass(frozen=True)
class InspectRows:
    """What to inspect, and the settings to inspect it under."""

    data: str = "embedded"
    """A JSONL, JSON, CSV or Parquet file, a `datasets` folder, a Hub dataset, or `embedded`."""

    _: KW_ONLY

    model: Annotated[str, Parameter(alias="--model-name")] = "embedded"
    """A Hub model, a folder, a GGUF file, `smollm2`, or `embedded`; only its tokenizer is used."""

    pad_token: str | None = None
    """The padding token, for tokenizers without one; it is always masked."""

    trust_remote_code: bool = False
    """Allow models from the Hub to execute their own Python code."""

    input_field: str = "input"
    """The column of the prompt."""

    target_field: str = "target"
    """The column of the answer."""

    numbers_as_text: bool = False
    """Read numbers in these columns as text instead of rejecting them."""

    template: str = "auto"
    """Prompt template: `plain`, `chat` (the tokenizer's chat template), `verbatim` (no template),
    or a text with `{input}`. `auto` uses `chat` for conversations, `verbatim` for `prompt` and
    `completion` rows, and `plain` otherwise."""

    loss_on: Literal["target", "all"] = "target"
    """Tokens to compute the loss on: the answers (`target`) or all tokens."""

    held_out: float = 0.1
    """Fraction of rows to hold out for validation."""

    skip_bad_rows: bool = False
    """Only count rows that cannot be used, and exit with 0."""

    max_tokens: Annotated[int, Parameter(alias="--max-seq-length")] = 512
    """Maximum tokens per row. Longer prompts are truncated on the left; answers are never cut."""

    batch_size: int = 4
    """Rows per batch."""

    examples: int = 3
    """Number of rows to show as the model sees them."""

    seed: int = 0
    """Random seed of the split and the row order."""

    def __post_init__(self) -> None:
        check(
            self,
            held_out=between(0.0, 1.0),
            max_tokens=at_least(8),
            batch_size=at_least(1),
            examples=at_least(0),
        )


DEFAULTS = InspectRows()


def inspect(settings: Annotated[InspectRows, Parameter(name="*")] = DEFAULTS) -> int:
    """Inspect a dataset: lengths, duplicates, truncation, bad rows.

    Rows are shown as the model sees them, with the supervised tokens marked. All
    bad rows are listed at the end, and the exit code is then 1 unless
    `--skip-bad-rows` is set.

    surefit inspect                              the embedded dataset
    surefit inspect rows.jsonl --model Qwen/Qwen3-0.6B-Base --max-tokens 256
    surefit inspect rows.csv --input-field question --target-field answer
    surefit inspect rows.jsonl --json inspection.json --quiet
    surefit inspect DIR --help                   for feature arrays
    """
    columns = Fields(
        settings.input_field, settings.target_field, numbers_as_text=settings.numbers_as_text
    )
    read = read_rows(settings.data, columns, skip_bad_rows=True)
    tokenizer = _tokenizer(settings)
    tokens = _tokens(settings, read, tokenizer)
    bad = (*read.bad, *_unusable(read, tokens))
    if not len(tokens.whole):
        raise BadInput(*bad)
    parts, refused = _split(settings, read)
    found = inspect_rows(read, tokens, parts, token_f1, settings.batch_size, settings.seed)
    decode = partial(
        tokenizer.decode, skip_special_tokens=False, clean_up_tokenization_spaces=False
    )
    shown = examples(tokens, decode, settings.examples)
    left_out = bad if settings.skip_bad_rows else ()
    told = (*(() if settings.skip_bad_rows else bad), *refused)
    outcome.add_part("inspection", _part(settings, found, shown, left_out))
    if not console.quiet:
        inspection.show(found, shown, console.out)
    if bad or refused:
        console.say()
    for finding in left_out:
        console.say(f"Skipped: {finding.headline}")
    outcome.tell(*told)
    return 1 if told else 0


def _tokenizer(settings: InspectRows) -> Tokenizer:
    console.say(f"Loading tokenizer: {settings.model}")
    source = find_model(settings.model, trust_remote_code=settings.trust_remote_code)
    tokenizer = load_tokenizer(source, settings.pad_token)
    check_tokenizer(tokenizer, settings.model)
    return tokenizer


def _tokens(settings: InspectRows, read: RowSet, tokenizer: Tokenizer) -> Tokenized:
    to_tokens = RowTokenizer(
        tokenizer,
        choose_template(settle_template(settings.template, read.kind, tokenizer), tokenizer),
        settings.max_tokens,
        loss_on_all=settings.loss_on == "all",
    )
    with console.progress("Tokenizing rows", len(read.rows)) as bar:
        return tokenize_within(read.rows, to_tokens, bar.step)


def _unusable(read: RowSet, tokens: Tokenized) -> tuple[Finding, ...]:
    total = len(read.rows) + read.skipped
    return (*tokens.whole.bad.findings(total), *tokens.within.bad.findings(total))


def _split(settings: InspectRows, read: RowSet) -> tuple[Split, tuple[Finding, ...]]:
    """A split that leaves nothing to train on is told with what else is wrong, and not made."""
    try:
        return split(read.rows, settings.held_out, settings.seed), ()
    except BadInput as refused:
        return split(read.rows, 0.0, settings.seed), refused.findings


def _part(
    settings: InspectRows,
    found: Inspection,
    shown: Sequence[Example],
    left_out: Sequence[Finding],
) -> dict[str, Json]:
    """What `--json` adds, with the settings it was found under."""
    return {
        "settings": as_dict(settings),
        **inspection.as_json(found, shown),
        "left_out": [finding.headline for finding in left_out],
    }
