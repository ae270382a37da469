"""Names and arguments that the installed library does not have, in scripts that are only read."""

import pytest

from reading import lines, read
from surefit.rules.library import argument_not_taken, name_not_in_library

LOADER = "from torch.utils.data import DataLoader\n"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (f"{LOADER}DataLoader(rows, batchsize=4)", [2]),
        (f"{LOADER}DataLoader(rows, **{{'batchsize': 4}})", [2]),
        (f"{LOADER}more = dict(batchsize=4)\nDataLoader(rows, **more)", [2]),
        (f"{LOADER}DataLoader(rows, batch_size=4, num_workers=2)", []),
        (f"{LOADER}more = dict(batchsize=4)\nmore.pop('batchsize')\nDataLoader(rows, **more)", []),
        (f"{LOADER}try:\n    DataLoader(rows, batchsize=4)\nexcept TypeError:\n    pass", []),
        (f"{LOADER}if torch.__version__ < '3':\n    DataLoader(rows, batchsize=4)", []),
        ("from other import DataLoader\nDataLoader(rows, batchsize=4)", []),
        ("from torch import nn\nnn.LSTM(3, 4, batchfirst=True)", []),
    ],
)
def test_arguments(text: str, found: list[int]) -> None:
    assert lines(argument_not_taken.RULE, text) == found


def test_the_argument_is_renamed() -> None:
    (finding,) = read(argument_not_taken.RULE, f"{LOADER}DataLoader(rows, batchsize=4)")
    assert "it is called `batch_size` there" in finding.headline
    (fix,) = finding.fixes
    assert fix.edit is not None
    assert [one.text for one in fix.edit.changes] == ["batch_size"]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("import numpy as np\nx = np.float(1)", [2]),
        ("import numpy as np\nnp.float = float\nx = np.float(1)", []),
        ("import numpy as np\nif hasattr(np, 'float'):\n    x = np.float", []),
        ("import numpy as np\nx = np.float32(1)", []),
        ("from torch.utils.data import DataLoder", [1]),
        ("from torch.utils.data import DataLoader, Dataset, random_split", []),
        ("try:\n    from torch.utils.data import DataLoder\nexcept ImportError:\n    pass", []),
        ("def f():\n    from torch.utils.data import DataLoder", []),
        ("from .torch import anything", []),
        ("import re\nre.M", []),
    ],
)
def test_names(text: str, found: list[int]) -> None:
    assert lines(name_not_in_library.RULE, text) == found
