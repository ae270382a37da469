"""The slice of a row that goes beyond the end of the data."""

import ast

from surefit.laws.rows.cut_windows import counted_by, widest_window
from surefit.source.reading import Source

WINDOWS = """\
class Windows(Dataset):
    def __len__(self):
        return len(self.table) - self.past

    def __getitem__(self, i):
        past = self.table[i : i + self.past]
        future = self.table[i + self.past : i + self.past + self.ahead, 0]
        return past, future
"""


def test_as_many_windows_as_are_whole() -> None:
    source = Source("train.py", WINDOWS)
    kind = source.tree.body[0]
    window = widest_window(source, kind)
    assert window is not None
    assert window[0].lineno == 7
    assert window[1] == "len(self.table) - self.past - self.ahead + 1"
    counts = counted_by(source, kind)
    assert counts is not None
    assert ast.unparse(counts) == "len(self.table) - self.past"


def test_a_row_of_its_own_is_no_window() -> None:
    text = WINDOWS.replace("[i : i + self.past]", "[i]")
    text = text.replace("[i + self.past : i + self.past + self.ahead, 0]", "[i, 0]")
    source = Source("train.py", text)
    assert widest_window(source, source.tree.body[0]) is None
