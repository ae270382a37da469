"""Writes patches that held to the user's files."""

from collections.abc import Sequence
from pathlib import Path

from surefit.doctor.findings import Finding, Fix
from surefit.proof.own_file import OwnFile
from surefit.proof.own_notebook import OwnNotebook, read_own
from surefit.source.patches import Edit, both
from surefit.writing import put


def apply(findings: Sequence[Finding], cwd: Path) -> list[str]:
    """What was done, a line for each file; one that is no more as it was read is left alone. Of
    each finding the first fix that held; what is the user's choice is left to the user."""
    by_file: dict[str, list[tuple[str, Fix]]] = {}
    left: list[str] = []
    for finding in findings:
        fix = finding.held
        if fix is None or fix.edit is None:
            continue
        if fix.choice:
            left.append(
                f"{fix.edit.file} is left as it is: the fix of {finding.rule} is your choice"
            )
        else:
            by_file.setdefault(fix.edit.file, []).append((finding.rule, fix))
    return [*(applied(file, fixes, cwd) for file, fixes in by_file.items()), *left]


def applied(name: str, fixes: Sequence[tuple[str, Fix]], cwd: Path) -> str:
    path = cwd / name
    rules = ", ".join(rule for rule, _ in fixes)
    try:
        file = read_own(path)
        edit = together([fix for _, fix in fixes], file)
        mode = path.stat().st_mode
        put(path.resolve(), file.patched(edit).content)
        path.chmod(mode)
    except (OSError, ValueError, SyntaxError) as error:
        return f"{name} is left as it is: {error}"
    return f"{name} is patched: {rules}"


def together(fixes: Sequence[Fix], file: OwnFile | OwnNotebook) -> Edit:
    """One edit; `ValueError` if a diff made of the file now is another than the one that held."""
    edits = [fix.edit for fix in fixes if fix.edit]
    for fix, edit in zip(fixes, edits, strict=True):
        if file.as_diff(edit) != fix.patch:
            raise ValueError("it was changed after the patch was tried")
    whole = edits[0]
    for edit in edits[1:]:
        whole = both(whole, edit)
    return whole
