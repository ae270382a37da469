"""The incomplete last batch left out, where its loader is created; and the rows that it costs."""

import ast

from surefit.doctor.conditions.batches import WholeBatches
from surefit.doctor.findings import Fix
from surefit.laws.case import Case
from surefit.laws.rows.batch_lines import batch_line, is_training
from surefit.laws.rows.batches import LastBatch
from surefit.laws.rows.loaders import arguments_call, loader_call, makes_several
from surefit.remedies.arguments import SetArgument
from surefit.source.reading import Source


def drop_last(case: Case, last: LastBatch, *, in_order: bool = False) -> SetArgument | Fix | None:
    """In order: the rows of a batch continue in the next, so that they must not be shuffled. In
    words only where a mean over the remaining rows would be wrong; None without its loader."""
    place, crash = last.loader.place, case.crash
    source = case.source(place)
    if source is None or place is None or crash is None:
        return None
    loader, trainer = loader_call(source, place), arguments_call(source)
    call, name = (loader, "drop_last") if loader else (trainer, "dataloader_drop_last")
    value = dropping_value(source, loader) if loader else "True"
    if call is None or not value:
        return None
    training = is_training(crash)
    rows = lost(last, in_order) if training else not_evaluated(last)
    words = f"Leave the incomplete batch out: `{name}={value}`. {rows}"
    if not training and divides_by_rows(source):
        return Fix(
            f"Leave the incomplete batch out, `{name}={value}`, and divide by the rows that were"
            f" evaluated, not by `len(loader.dataset)`. {rows}",
            choice=True,
        )
    line = batch_line(crash, last.rows)
    counted = counts_batches(source) or trainer is call
    must = None
    if line is not None:
        must = WholeBatches(
            place=line.place,
            text=line.text,
            mode=line.mode,
            rows=last.size,
            changes_the_past=counted,
            training=training,
        )
    at = case.expression(source, call)
    return SetArgument(at=at, name=name, value=value, words=words, must=must, choice=True)


def dropping_value(source: Source, call: ast.Call) -> str:
    """A line that creates loaders for evaluation, too, must not drop rows of theirs: it drops where
    it shuffles. Empty where that cannot be told."""
    if not makes_several(source, call):
        return "True"
    shuffles = source.argument(call, "shuffle", 2)
    if shuffles is None or isinstance(shuffles, ast.Constant):
        return ""
    return source.segment(shuffles)


def counts_batches(source: Source) -> bool:
    """`len(loader)`: a schedule over all steps, say, which is then another one from the start."""
    return any("loader" in text.lower() for text in measured(source))


def divides_by_rows(source: Source) -> bool:
    return any(text.endswith(".dataset") for text in measured(source))


def measured(source: Source) -> list[str]:
    calls = [call for call in source.calls_named("len") if call.args]
    return [source.segment(call.args[0]) for call in calls]


def not_evaluated(last: LastBatch) -> str:
    are = "is" if last.rows == 1 else "are"
    return (
        f"{last.rows} of {last.total} rows {are} then not evaluated: a mean over them is one over"
        f" {last.total - last.rows}, not over `len(dataset)`."
    )


def lost(last: LastBatch, in_order: bool) -> str:
    """How many rows are no longer trained on, and which."""
    single = last.rows == 1
    count = f"{last.rows} of {last.total} rows {'is' if single else 'are'} then not trained on"
    if last.loader.shuffles:
        other = "another one in each" if single else "others in each"
        return f"{count} in an epoch, {other} because the loader shuffles."
    if in_order:
        return f"{count} in an epoch."
    same, another = ("one", "another") if single else ("ones", "others")
    return (
        f"{count} in an epoch, always the same {same}; `shuffle=True` makes it {another} in each."
    )
