"""Statements that make rows out of rows before a split, and those that only look like it."""

import pytest

from surefit.laws.rows.copied_rows import copied_before_split
from surefit.source.reading import Source

SPLIT = "train, test = table[:80], table[80:]\n"


def found(text: str) -> bool:
    return any(copied_before_split(Source("train.py", text + SPLIT)))


@pytest.mark.parametrize(
    "statement",
    [
        "table = pd.concat([table, rare])\n",
        "table = torch.cat([table, table + noise], dim=0)\n",
        "table = np.concatenate([table, table])\n",
    ],
)
def test_rows_are_joined(statement: str) -> None:
    assert found(statement)


@pytest.mark.parametrize(
    "statement",
    [
        "table = pd.concat([table, dummies], axis=1)\n",
        "table = pd.concat([table, dummies], axis='columns')\n",
        "table = torch.cat([table, more], dim=-1)\n",
        "def features(table):\n    return pd.concat([table, dummies], axis=1)\n"
        "table = features(table)\n",
    ],
)
def test_columns_are_joined(statement: str) -> None:
    assert not found(statement)
