"""What can be wrong with a file of arrays before any of its rows is looked at, as findings."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from shlex import quote

from surefit.doctor.findings import Fact, Finding, Fix, Place
from surefit.doctor.rule import refusal
from surefit.user_files import NotAPlainFile

UNREADABLE = refusal(
    "SF031",
    "unreadable-array",
    "A file of arrays cannot be opened, or is not what its name promises.",
)
WRONG_SIZE = refusal(
    "SF032",
    "array-of-wrong-size",
    "A file is shorter or longer than its header declares: it was truncated or overwritten.",
)
PICKLED = refusal(
    "SF033",
    "pickled-array",
    "A pickle runs code when it is read; surefit reads numbers and runs nothing.",
)
UNCLEAR = refusal(
    "SF034",
    "unclear-array",
    "A file holds several arrays, and it is unknown which of them holds the rows.",
)
NOT_NUMBERS = refusal(
    "SF048", "array-of-no-numbers", "An array has a dtype that is not numeric in NumPy."
)


def unreadable(name: str, reason: str, fix: str, error: Exception | None = None) -> Finding:
    said = "" if error is None else f"{type(error).__name__}: {error}"
    return UNREADABLE.finding(
        Place(name), f"`{name}` {reason}.", fixes=(Fix(fix),), python_said=said
    )


def not_opened(name: str, path: Path, error: OSError) -> Finding:
    """Told by what the path is, since systems say it variously."""
    if path.is_symlink() and not path.exists():
        reason = f"is a link to `{path.readlink()}`, which does not exist"
        return unreadable(name, reason, "Fix the link, or remove it from the folder.")
    if path.is_dir():
        fix = "Give the folder itself, or take it out of this one."
        return unreadable(name, "is a folder, and its name promises a file", fix)
    if isinstance(error, NotAPlainFile):
        reason = f"cannot be read: {error.strerror}"
        return unreadable(name, reason, "Replace it with a file, or remove it from the folder.")
    if isinstance(error, PermissionError):
        fix = f"Let yourself read it:  chmod u+r {quote(str(path))}"
        return unreadable(name, "may not be read by you", fix, error)
    return unreadable(
        name, "cannot be read", "Repair the file, or remove it from the folder.", error
    )


def too_large(name: str, needs: str, error: Exception | None = None) -> Finding:
    fix = "Store fewer rows per file, or one array per file, uncompressed."
    return unreadable(name, f"takes {needs}", fix, error)


def not_of_its_format(name: str, format_: str, error: Exception | str) -> Finding:
    said = error if isinstance(error, str) else f"{type(error).__name__}: {error}"
    return UNREADABLE.finding(
        Place(name),
        f"`{name}` is not the {format_} that its name promises, or it is damaged.",
        fixes=(Fix("Write the file again, or take it out of the folder."),),
        python_said=said,
    )


def wrong_size(
    name: str, size: int, expected: int, shape: Sequence[int], begin: int, row_bytes: int
) -> Finding:
    """`begin` is where rows begin; `row_bytes` 0 where rows do not follow each other."""
    rows = shape[0] if shape else 1
    whole = min(rows, max(0, size - begin) // row_bytes) if row_bytes else 0
    short = size < expected
    by = f"{abs(expected - size):,} bytes"
    facts = [
        Fact("its header says", f"{list(shape)}: {expected:,} bytes in all"),
        Fact("the file has", f"{size:,} bytes: {by} {'too few' if short else 'too many'}"),
    ]
    if short:
        facts.append(Fact("whole rows in it", _whole_rows(whole, rows, row_bytes)))
        fix = "Write the file again, from what it was made of."
        why = "Writing or copying it was interrupted; the missing rows are not in the file."
    else:
        fix = "Write the file again: the bytes after its rows belong to nothing."
        why = "Something was written into the file behind its array, or its header is another's."
    return WRONG_SIZE.finding(
        Place(name),
        f"`{name}` is {by} {'shorter' if short else 'longer'} than its header says.",
        facts=facts,
        why=why,
        fixes=(Fix(fix),),
    )


def _whole_rows(whole: int, rows: int, row_bytes: int) -> str:
    if not row_bytes:
        return "none: its rows do not lie one behind the other"
    if not whole:
        return f"none of {rows:,}"
    return f"{whole:,} of {rows:,}; row {whole - 1:,} (from 0) is the last"


def pickled(name: str, what: str, error: Exception | None = None) -> Finding:
    return PICKLED.finding(
        Place(name),
        f"`{name}` {what}, and pickles are not read.",
        why="Loading a pickle executes code; surefit never executes code from data files.",
        fixes=(
            Fix(
                "Where you trust it, read it yourself and store its numbers:  "
                "np.save('rows.npy', np.stack(rows))"
            ),
            Fix("If it holds no rows, take it out of the folder."),
        ),
        python_said="" if error is None else f"{type(error).__name__}: {error}".splitlines()[0],
    )


def no_numbers(name: str, dtype: str, fix: str) -> Finding:
    return NOT_NUMBERS.finding(
        Place(name),
        f"`{name}` holds values of `{dtype}`; features are numbers.",
        fixes=(Fix(fix),),
    )


def unclear(name: str, word: str, shapes: Mapping[str, tuple[int, ...]]) -> Finding:
    """`word` is what the format calls an array: tensor, member, column."""
    each = [Fact(f"`{inside}`", f"{list(shape)}") for inside, shape in list(shapes.items())[:20]]
    held = f"{len(shapes)} {word}s" if shapes else f"no {word}"
    return UNCLEAR.finding(
        Place(name),
        f"`{name}` holds {held}, and not exactly one of them can be the rows.",
        facts=each,
        why="One array of three axes is taken, or else one of two; which of several is meant only"
        " you can know.",
        fixes=(Fix("Store the rows in a separate file, as its only such array."),),
    )


def choose(name: str, word: str, shapes: Mapping[str, tuple[int, ...]]) -> str | Finding:
    """The only array; else the only one of three axes; else the only one of two or more."""
    for wanted in ((lambda _: True), (lambda n: n == 3), (lambda n: n >= 2)):
        fitting = [inside for inside, shape in shapes.items() if wanted(len(shape))]
        if len(fitting) == 1:
            return fitting[0]
    return unclear(name, word, shapes)
