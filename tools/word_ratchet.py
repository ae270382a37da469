"""Counts words to avoid, which may only become fewer: `python -m tools.word_ratchet [--update]`.

A count above its number in word_counts.json is an error; so is a count below it, until `--update`
has lowered the number. No number is ever raised here.
"""

import ast
import json
import re
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
STORED = Path(__file__).with_name("word_counts.json")
SHOWN = 10

INSTEAD = {
    "whole number": "integer",
    "kind of number": "dtype",
    "one behind the other": "contiguous, or one after the other",
    "wants a gradient": "requires grad",
    "without a word": "silently",
    "go through": "iterate",
    "go on with": "resume",
    "anew": "again",
    "mask of padding": "key padding mask (N, L)",
    "mask of places": "attention mask (L, L)",
    "has no least value": "is not minimised",
    "advises": "suggests",
    "which were not it": "neither is the cause",
    "only you know": "your choice: ...",
    "shall guess": "should predict",
    "shall stay": "must stay",
}
"""Phrase to avoid -> what to write. `behind` for "after" and `place` for "position" are not here:
both words have right uses, which cannot be told apart by a search."""

BETWEEN_WORDS = r'[\s#"]+(?:f")?'
"""Phrases are counted across the line breaks of prose, comments and strings."""
PHRASES = re.compile(
    "(?<![a-z])(?:"
    + "|".join(BETWEEN_WORDS.join(phrase.split()) for phrase in INSTEAD)
    + ")s?(?![a-z])",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Use:
    """A word to avoid at a line, and what to write there."""

    file: Path
    line: int
    advice: str


def names_called_one(trees: dict[Path, ast.Module]) -> Iterator[Use]:
    """Every assignment, loop and comprehension that binds `one`; reading it counts nothing."""
    for file, tree in trees.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.Name) and node.id == "one" and isinstance(node.ctx, ast.Store):
                yield Use(file, node.lineno, "name the thing, as in `for frame in frames`")


def parameters_called_one(trees: dict[Path, ast.Module]) -> Iterator[Use]:
    """Of functions and lambdas; and names that a `case` binds."""
    for file, tree in trees.items():
        for node in ast.walk(tree):
            if (isinstance(node, ast.arg) and node.arg == "one") or (
                isinstance(node, ast.MatchAs | ast.MatchStar) and node.name == "one"
            ):
                yield Use(file, node.lineno, "name the thing, as in `lambda frame: frame.line`")


def repeated_class_names(trees: dict[Path, ast.Module]) -> Iterator[Use]:
    """Each name once, at its definition in the file that was written last."""
    places = defaultdict(list)
    for file, tree in trees.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                places[node.name].append((file, node.lineno))
    for name, ((file, line), *others) in places.items():
        if others:
            also = ", ".join(f"{other.name}:{at}" for other, at in others)
            yield Use(file, line, f"another name for `{name}`, which is also a class at {also}")


def phrases_to_avoid(texts: dict[Path, str]) -> Iterator[Use]:
    for file, text in texts.items():
        for match in PHRASES.finditer(text):
            words = re.sub(BETWEEN_WORDS, " ", match[0])
            instead = INSTEAD.get(words.lower()) or INSTEAD[words.lower().removesuffix("s")]
            line = text.count("\n", 0, match.start()) + 1
            yield Use(file, line, f'"{instead}" instead of "{words}"')


def newest_first(files: Iterable[Path]) -> list[Path]:
    """So that what was just written is shown."""
    return sorted(sorted(files), key=lambda file: file.stat().st_mtime, reverse=True)


def all_uses(root: Path) -> dict[str, list[Use]]:
    modules, pages = (root / "src" / "surefit").rglob("*.py"), (root / "docs").rglob("*.md")
    texts = {file: file.read_text(encoding="utf-8") for file in newest_first([*modules, *pages])}
    trees = {file: ast.parse(text) for file, text in texts.items() if file.suffix == ".py"}
    return {
        "`one` as a variable": list(names_called_one(trees)),
        "`one` as a parameter": list(parameters_called_one(trees)),
        "class names defined more than once": list(repeated_class_names(trees)),
        "phrases to avoid": list(phrases_to_avoid(texts)),
    }


def main(arguments: list[str], root: Path = ROOT, stored: Path = STORED) -> int:
    if arguments not in ([], ["--update"]):
        print(__doc__)
        return 2
    limits: dict[str, int] = json.loads(stored.read_text(encoding="utf-8"))
    uses = all_uses(root)
    if arguments:
        limits = {what: min(limits[what], len(places)) for what, places in uses.items()}
        stored.write_text(json.dumps(limits, indent=2) + "\n", encoding="utf-8")
    wrong = 0
    for what, places in uses.items():
        if len(places) > limits[what]:
            wrong = 1
            print(f"{what}: {len(places):,}, and at most {limits[what]:,} are allowed. Write:")
            for use in places[:SHOWN]:
                print(f"  {use.file.relative_to(root)}:{use.line}: {use.advice}")
            if len(places) > SHOWN:
                print(f"  ... and {len(places) - SHOWN:,} more; files written last come first")
        elif len(places) < limits[what]:
            wrong = 1
            print(
                f"{what}: {len(places):,}, fewer than the stored {limits[what]:,}. "
                "Run `python -m tools.word_ratchet --update`"
            )
    return wrong


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
