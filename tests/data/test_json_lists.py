"""A list that is read a piece at a time has the elements of the whole, on the same lines."""

import json
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from surefit.data import json_lists
from surefit.data.json_files import _rows_of_whole, read_json
from surefit.data.json_lists import NotAList, list_elements
from surefit.errors import BadInput

values = st.recursive(
    st.none() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=5,
)
space = st.text(" \t\r\n", max_size=3)


def said(rows: Any) -> tuple[list[object], object]:
    """Rows up to a refusal, and what that says."""
    found: list[object] = []
    try:
        for row in rows:
            found.append(row)
    except BadInput as refused:
        return found, refused.findings
    return found, None


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=150)
@given(
    elements=st.lists(st.tuples(space, values, space), max_size=5),
    mark=st.sampled_from(["", "\ufeff"]),
    broken_at=st.none() | st.integers(0, 40),
    at_once=st.integers(1, 30),
    as_ascii=st.booleans(),
)
def test_rows_and_faults_are_those_of_the_whole_text(
    tmp_path: Path,
    elements: list[tuple[str, object, str]],
    mark: str,
    broken_at: int | None,
    at_once: int,
    as_ascii: bool,
) -> None:
    parts = [f"{a}{json.dumps(value, ensure_ascii=as_ascii)}{b}" for a, value, b in elements]
    text = f"{mark}\n[{','.join(parts)}]\n"
    if broken_at is not None:
        text = text[:broken_at] + text[broken_at + 1 :]
    file = tmp_path / "rows.json"
    file.write_bytes(text.encode())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(json_lists, "CHARACTERS_AT_ONCE", at_once)
        found = said(read_json(file, "rows.json"))
    assert found == said(_rows_of_whole(file, "rows.json"))


def test_only_a_piece_of_the_file_is_in_memory(tmp_path: Path) -> None:
    file = tmp_path / "rows.json"
    file.write_text("[" + ",\n".join(['{"input": "a", "target": "b"}'] * 10) + ', {"broken')
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(json_lists, "CHARACTERS_AT_ONCE", 40)
        found = list(islice(list_elements(file), 10))
    assert found == [(line, {"input": "a", "target": "b"}) for line in range(1, 11)]


@pytest.mark.parametrize("text", ["", "{}", '"a"', " 3"])
def test_what_is_no_list_is_told(tmp_path: Path, text: str) -> None:
    file = tmp_path / "rows.json"
    file.write_text(text)
    with pytest.raises(NotAList):
        next(list_elements(file))
