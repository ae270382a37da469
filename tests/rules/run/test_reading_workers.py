"""Workers that begin anew, in scripts that are only read."""

import pytest

from reading import lines, read
from surefit.rules.run import no_main_guard, not_picklable

SCRIPT = """from torch.utils.data import DataLoader
import torch.multiprocessing as mp
{before}
def train(rows):
    loader = DataLoader(rows, num_workers={workers}{more})
    for batch in loader:
        print(batch)
{call}
"""
SPAWN = ", multiprocessing_context='spawn'"
GUARDED = "if __name__ == '__main__':\n    train(rows)"


@pytest.mark.parametrize(
    ("before", "workers", "more", "call", "found"),
    [
        ("", 2, SPAWN, "train(rows)", [8]),
        ("mp.set_start_method('spawn')", 2, "", "train(rows)", [8]),
        ("", 2, SPAWN, GUARDED, []),
        ("", 0, SPAWN, "train(rows)", []),
        ("", 2, "", "train(rows)", []),
        ("", 2, ", multiprocessing_context='fork'", "train(rows)", []),
        ("", 2, SPAWN, "", []),
    ],
)
def test_training_that_workers_would_run(
    before: str, workers: int, more: str, call: str, found: list[int]
) -> None:
    text = SCRIPT.format(before=before, workers=workers, more=more, call=call)
    assert lines(no_main_guard.RULE, text) == found


@pytest.mark.parametrize(
    ("before", "more", "found"),
    [
        ("", f"{SPAWN}, collate_fn=lambda rows: rows", [5]),
        ("stack = lambda rows: rows", f"{SPAWN}, collate_fn=stack", [3]),
        ("", ", collate_fn=lambda rows: rows", []),
        ("def stack(rows):\n    return rows", f"{SPAWN}, collate_fn=stack", []),
    ],
)
def test_functions_without_a_name(before: str, more: str, found: list[int]) -> None:
    text = SCRIPT.format(before=before, workers=2, more=more, call=GUARDED)
    assert lines(not_picklable.RULE, text) == found


def test_a_lambda_becomes_a_function_where_it_needs_nothing() -> None:
    text = SCRIPT.format(before="", workers=2, more=f"{SPAWN}, collate_fn=lambda r: r", call="")
    (finding,) = read(not_picklable.RULE, text)
    assert finding.fixes[0].edit is not None
    needs = text.replace("lambda r: r", "lambda r: loader")
    (finding,) = read(not_picklable.RULE, needs)
    assert finding.fixes[0].edit is None
