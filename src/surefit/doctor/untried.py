"""Fixes that nothing was tried of: each edit as a patch, and why it was not tried."""

from dataclasses import replace

from surefit.doctor.cells import Cells
from surefit.doctor.findings import Finding, Fix, Proof
from surefit.doctor.recording import Recording
from surefit.source.edits import as_diff


def untried(
    finding: Finding, recording: Recording, reason: str, cells: Cells | None = None
) -> Finding:
    """The rule's own reason stands before this one."""
    return replace(
        finding, fixes=tuple(as_patch(fix, recording, reason, cells) for fix in finding.fixes)
    )


def as_patch(fix: Fix, recording: Recording, reason: str, cells: Cells | None) -> Fix:
    source = recording.source(fix.edit.file) if fix.edit else None
    if fix.edit is None or source is None:
        return replace(fix, proof=not_tried(fix, "there is no patch to try"))
    try:
        patch = as_diff(fix.edit, source.text)
        if cells is not None:
            patch = cells.notebook.as_diff(fix.edit)
    except ValueError:
        return replace(fix, proof=not_tried(fix, "it cannot be patched"))
    return replace(fix, patch=patch, proof=not_tried(fix, reason))


def not_tried(fix: Fix, reason: str) -> Proof:
    return Proof("not-tried", fix.why_not_tried or reason)
