"""Functions are pickled, hashed and sent to others as the user wrote them."""

import bisect
from pathlib import Path
from types import CodeType

import pytest

from running import observed, plainly, written
from surefit.observe.inside import fingerprints
from surefit.observe.inside.caught import swallowed

TWO_HANDLERS = """
    import functools

    def outer(row, default={}):
        def inner(value):
            try:
                return int(value)
            except ValueError:
                return [one for one in (lambda: 0, lambda: 1)][1]()
        try:
            return inner(row["a"])
        except (KeyError, TypeError) as error:
            return default

    class Rows:
        def __getitem__(self, at):
            try:
                yield at
            finally:
                pass

    one, two = lambda x: x + 1, lambda x: x + 2
"""


def codes(code: CodeType) -> list[CodeType]:
    below = [one for one in code.co_consts if isinstance(one, CodeType)]
    return [code, *(deep for one in below for deep in codes(one))]


@pytest.fixture
def probed(tmp_path: Path) -> tuple[CodeType, CodeType]:
    """A file as it is run, and as Python compiles it."""
    script = written(tmp_path, script=TWO_HANDLERS)
    raw = script.read_bytes()
    return swallowed.probed(raw, str(script)), compile(raw, str(script), "exec", dont_inherit=True)


def test_every_function_leads_back_to_its_own_plain_code(
    probed: tuple[CodeType, CodeType],
) -> None:
    """Two lambdas of one line have one name; each is itself."""
    run, plain = probed
    found = [fingerprints.plain(code) for code in codes(run)]
    assert found == codes(plain)
    assert [code.co_linetable for code in found] == [code.co_linetable for code in codes(plain)]
    assert any(code != other for code, other in zip(codes(run), codes(plain), strict=True))
    assert swallowed.TRIED in {name for code in codes(run) for name in code.co_names}


def test_lines_and_columns_of_what_raises_do_not_move(probed: tuple[CodeType, CodeType]) -> None:
    run, plain = probed
    for one, other in zip(codes(run), codes(plain), strict=True):
        probes = {(line, line, column, column) for line, _, column, _ in one.co_positions()}
        assert set(one.co_positions()) - probes == set(other.co_positions()) - probes


def test_code_without_handlers_is_the_code_that_python_makes() -> None:
    text = Path(bisect.__file__).read_bytes()
    without = text[: text.index(b"# Overwrite above definitions")]
    plain = codes(compile(without, "bisect", "exec", dont_inherit=True))
    assert len(plain) == 5
    assert codes(swallowed.probed(without, "bisect")) == plain


def test_code_that_nobody_probed_is_itself() -> None:
    code = codes.__code__
    assert fingerprints.plain(code) is code


MAPS = """
    import sys
    from datasets import disable_progress_bars, load_from_disk
    disable_progress_bars()
    FACTOR = 2

    def helper(text):
        try:
            return float(text) * FACTOR
        except ValueError:
            return 0.0

    def parsed(row):
        try:
            return {"value": helper(row["text"])}
        except KeyError:
            return {"value": None}

    rows = load_from_disk("rows")
    print(rows.map(parsed)["value"][-3:], rows.filter(lambda row: len(row["text"]) > 1).num_rows)
"""


@pytest.mark.slow
def test_a_mapped_function_finds_its_cache_again(tmp_path: Path) -> None:
    make = "import datasets; datasets.Dataset.from_dict({'text': [*'123456789', '10', 'x']})"
    script = written(tmp_path, maps=MAPS, make=f"{make}.save_to_disk('rows')")
    assert plainly(["make.py"], tmp_path).code == 0

    def caches() -> dict[str, int]:
        return {file.name: file.stat().st_mtime_ns for file in tmp_path.rglob("cache-*.arrow")}

    plain = plainly([script], tmp_path)
    kept = caches()
    assert len(kept) == 2, plain.err
    with_surefit = observed([script], tmp_path)
    assert with_surefit.out == plain.out == "[18.0, 20.0, 0.0] 1\n"
    assert caches() == kept
    assert with_surefit.swallowed == [], "the cache was not read"


PICKLES = """
    import sys
    pickle = __import__(sys.argv[1])

    def parsed(text):
        try:
            return int(text)
        except ValueError:
            return -1

    class Parser:
        def __call__(self, text):
            "Text about it."
            try:
                return parsed(text)
            except TypeError:
                return -2

    with open(sys.argv[2], "wb") as out:
        out.write(pickle.dumps([parsed, Parser()]))
"""
UNPICKLES = """
    import sys
    pickle = __import__(sys.argv[1])
    with open(sys.argv[2], "rb") as opened:
        parsed, parser = pickle.load(opened)
    print(parsed("x"), parser(None), "__surefit_tried__" in dir(__builtins__))
"""


@pytest.mark.parametrize("library", ["dill", "cloudpickle"])
def test_a_function_sent_to_an_unobserved_process_runs_there(library: str, tmp_path: Path) -> None:
    pytest.importorskip(library)
    pickles = written(tmp_path, pickles=PICKLES, unpickles=UNPICKLES)
    plain = plainly([pickles, library, "made"], tmp_path)
    assert plain.code == 0, plain.err
    made = (tmp_path / "made").read_bytes()
    assert observed([pickles, library, "made"], tmp_path).faults == []
    if library == "dill":  # the other one gives every class a random number
        assert (tmp_path / "made").read_bytes() == made
    there = plainly(["unpickles.py", library, "made"], tmp_path)
    assert there.out == "-1 -2 False\n", there.err
