"""Where a line of the user's stands after a patch."""

from collections.abc import Sequence
from difflib import SequenceMatcher

from surefit.doctor.findings import Place
from surefit.doctor.recording import Recording


def moved_to(place: Place, before: Recording, after: Recording) -> range:
    """The lines of a patched file that one line of the file as it was became."""
    old, new = before.source(place), after.source(place)
    if old is None or new is None:
        return range(place.line or 0, (place.line or 0) + 1)
    return became(place.line or 0, old.lines, new.lines)


def became(line: int, old: Sequence[str], new: Sequence[str]) -> range:
    """The lines, from 1, that a line has become; none where it was taken out."""
    matcher = SequenceMatcher(None, old, new, autojunk=False)
    for how, begin, end, new_begin, new_end in matcher.get_opcodes():
        if begin < line <= end:
            same = new_begin + line - begin
            if how == "equal":
                return range(same, same + 1)
            return indented(old[line - 1], new, range(new_begin + 1, new_end + 1))
    return range(0)


def indented(line: str, new: Sequence[str], within: range) -> range:
    """The only line of the same text, however far it stands from the margin; or all of them."""
    alike = [number for number in within if new[number - 1].strip() == line.strip()]
    return range(alike[0], alike[0] + 1) if len(alike) == 1 else within
