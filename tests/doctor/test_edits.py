"""Edits change what they name and nothing else, and real tools take their diffs."""

import ast
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from surefit.source.edits import (
    Edit,
    Replace,
    appended,
    argument_added,
    argument_removed,
    as_diff,
    both,
    call_becomes,
    inserted_after,
    inserted_before,
    moved_after,
    patched,
    removed,
    replaced,
    with_import,
    wrapped,
)
from surefit.source.reading import Source
from surefit.source.spans import Span


def source_of(text: str) -> Source:
    return Source("train.py", text)


def first(source: Source, kind: type[ast.expr], text: str = "") -> ast.expr:
    """The first expression of a kind, in the order of the file, that is written so."""
    found = [
        node
        for node in ast.walk(source.tree)
        if isinstance(node, kind) and text in ("", source.segment(node))
    ]
    return min(found, key=lambda node: (node.lineno, node.col_offset))


def call_of(source: Source, name: str) -> ast.Call:
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Call) and source.segment(node.func).endswith(name):
            return node
    raise AssertionError(name)


def test_only_the_span_changes() -> None:
    text = "größe = [ 1,2 ]   # ß\nx = f( größe )\n"
    source = source_of(text)
    edit = replaced(source, first(source, ast.List), "[3]")
    assert patched(edit, text) == "größe = [3]   # ß\nx = f( größe )\n"


@pytest.mark.parametrize(
    ("text", "node", "expected"),
    [
        ("y = labels[:, 1:].view(-1)", "labels[:, 1:]", "y = labels[:, 1:].c().view(-1)"),
        ("y = a + b", "a + b", "y = (a + b).c()"),
        ("y = (a + b).view(1)", "a + b", "y = (a + b).c().view(1)"),
        ("y = f(a + b)", "a + b", "y = f((a + b).c())"),
        ("y = f((a + b), 1)", "a + b", "y = f((a + b).c(), 1)"),
        ("return_ = -x", "-x", "return_ = (-x).c()"),
        ("y = 1", "1", "y = (1).c()"),
        ("y = 'é'", "'é'", "y = 'é'.c()"),
        ("y = a, b", "a, b", "y = (a, b).c()"),
        ("y = (a), (b)", "(a), (b)", "y = ((a), (b)).c()"),
        ("y = (a, b)", "(a, b)", "y = (a, b).c()"),
        ("y = f(x for x in z)", "(x for x in z)", "y = f((x for x in z).c())"),
        ("y = lambda: 1", "lambda: 1", "y = (lambda: 1).c()"),
        ("y = a if b else c", "a if b else c", "y = (a if b else c).c()"),
        ("y = await_(\n    a\n    + b\n)", "a\n    + b", "y = await_(\n    (a\n    + b).c()\n)"),
    ],
)
def test_appended_text_takes_the_whole_expression(text: str, node: str, expected: str) -> None:
    source = source_of(text)
    assert patched(appended(source, first(source, ast.expr, node), ".c()"), text) == expected


@pytest.mark.parametrize(
    ("text", "node", "expected"),
    [
        ("y = a + b", "a + b", "y = f(a + b)"),
        ("y = a, b", "a, b", "y = f((a, b))"),
        ("y = g(x for x in z)", "(x for x in z)", "y = g(f((x for x in z)))"),
    ],
)
def test_wrapped(text: str, node: str, expected: str) -> None:
    source = source_of(text)
    assert patched(wrapped(source, first(source, ast.expr, node), "f(", ")"), text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("f()", "f(n=1)"),
        ("f( )", "f(n=1 )"),
        ("f(a)", "f(a, n=1)"),
        ("f(a,)", "f(a, n=1,)"),
        ("f((a))", "f((a), n=1)"),
        ("f(a, n=2)", "f(a, n=1)"),
        ("f(n=(2), b=3)", "f(n=1, b=3)"),
        ("f(n = g(a=2, b=3))", "f(n = 1)"),
        ("f(**k)", "f(**k, n=1)"),
        ("f(x for x in y)", "f((x for x in y), n=1)"),
        ("f(x for x, z in y)", "f((x for x, z in y), n=1)"),
        ("f(lambda a, b: a)", "f(lambda a, b: a, n=1)"),
        ("f(\n    a,\n    b,\n)", "f(\n    a,\n    b,\n    n=1,\n)"),
        ("f(\n    a,\n    b  # last\n)", "f(\n    a,\n    b,\n    n=1  # last\n)"),
        ("f(\n    a, b\n)", "f(\n    a, b, n=1\n)"),
        ("f(a,\n  b)", "f(a,\n  b,\n  n=1)"),
        ("f(a)(b)", "f(a)(b, n=1)"),
    ],
)
def test_an_argument_is_added_or_replaced(text: str, expected: str) -> None:
    source = source_of(text)
    call = source.tree.body[0].value  # type: ignore[attr-defined]
    assert patched(argument_added(source, call, "n", "1"), text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("f(n=1)", "f()"),
        ("f(a, n=1)", "f(a)"),
        ("f(n=1, b=2)", "f(b=2)"),
        ("f(n=lambda x, y: 1, b=2)", "f(b=2)"),
        ("f(a, n=1, b=2)", "f(a, b=2)"),
        ("f(\n    a,  # first\n    n=1,  # gone\n)", "f(\n    a,  # first\n)"),
        ("f(\n    a,\n    n=1\n)", "f(\n    a,\n)"),
        ("f(\n    n=1,\n    b=2,\n)", "f(\n    b=2,\n)"),
        ("f(a, n=(1, 2),\n  b=2)", "f(a, b=2)"),
    ],
)
def test_an_argument_is_removed_with_its_comma(text: str, expected: str) -> None:
    source = source_of(text)
    call = source.tree.body[0].value  # type: ignore[attr-defined]
    assert patched(argument_removed(source, call, "n"), text) == expected


def test_an_argument_that_is_not_there_cannot_be_removed() -> None:
    source = source_of("f(a)")
    with pytest.raises(ValueError, match="no argument n"):
        argument_removed(source, call_of(source, "f"), "n")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "from lib import Old\nc = Old(tok, 8, mlm=False)\n",
            "from lib import New\nc = New(tok)\n",
        ),
        (
            "from lib import Old, Other\nc = Old(tok, mlm=False)\nd = Old()\nOther\n",
            "from lib import Old, Other, New\nc = New(tok)\nd = Old()\nOther\n",
        ),
        (
            "from lib import (\n    A,\n    Old,\n)\nc = Old(tok, keep=1)\n",
            "from lib import (\n    A,\n    New,\n)\nc = New(tok, keep=1)\n",
        ),
        ("import lib\nc = lib.Old(tok, a=1)\n", "import lib\nc = lib.New(tok)\n"),
        ("import lib as l\nc = l.Old(a=1)\n", "import lib as l\nc = l.New()\n"),
        (
            "from other import Old\nimport torch\nc = Old(tok)\n",
            "import torch\nfrom lib import New\nc = New(tok)\n",
        ),
        (
            "from other import Old, New2\nfrom lib import A\nc = Old(tok)\n",
            "from other import New2\nfrom lib import A, New\nc = New(tok)\n",
        ),
        (
            "from lib import New as N, Old\nc = Old(tok)\n",
            "from lib import New as N\nc = N(tok)\n",
        ),
        (
            "from lib import New, Old\nc = Old(tok)\nNew\n",
            "from lib import New\nc = New(tok)\nNew\n",
        ),
        (
            "def main():\n    from lib import Old\n    return Old(tok)\n",
            "def main():\n    from lib import New\n    return New(tok)\n",
        ),
        (
            "from lib import *\nc = Old(tok)\n",
            "from lib import *\nfrom lib import New\nc = New(tok)\n",
        ),
    ],
)
def test_a_call_becomes_another_with_its_import(text: str, expected: str) -> None:
    source = source_of(text)
    edit = call_becomes(source, call_of(source, "Old"), "New", "lib", keep=("keep",))
    assert patched(edit, text) == expected


def test_a_call_becomes_another_with_new_arguments() -> None:
    text = (
        "import lib\nc = lib.Old(\n    tok,\n    mlm=False,\n    size=8,\n)\nd = lib.Old(mlm=1)\n"
    )
    source = source_of(text)
    calls = [node for node in ast.walk(source.tree) if isinstance(node, ast.Call)]
    one, two = (
        call_becomes(source, call, "New", "lib", keep=("size",), add={"pad": "-100", "x": "y"})
        for call in sorted(calls, key=lambda call: call.lineno)
    )
    assert patched(one, text).startswith(
        "import lib\nc = lib.New(\n    tok,\n    size=8,\n    pad=-100,\n    x=y,\n)\n"
    )
    assert patched(two, text).endswith("d = lib.New(pad=-100, x=y)\n")


@pytest.mark.parametrize(
    ("text", "module", "name", "expected"),
    [
        ("import a\nx = 1\n", "b", None, "import a\nimport b\nx = 2\n"),
        ("import b\nx = 1\n", "b", None, "import b\nx = 2\n"),
        ("from b import c\nx = 1\n", "b", "d", "from b import c, d\nx = 2\n"),
        ("from b import c\nx = 1\n", "b", "c", "from b import c\nx = 2\n"),
        (
            "from b import (\n  c,\n  e)\nx = 1\n",
            "b",
            "d",
            "from b import (\n  c,\n  e,\n  d)\nx = 2\n",
        ),
        ("from .b import c\nx = 1\n", "b", "d", "from .b import c\nfrom b import d\nx = 2\n"),
        ("x = 1\nfrom b import c\n", "b", "d", "from b import d\nx = 2\nfrom b import c\n"),
        ('"""Doc."""\nx = 1\n', "b", "d", '"""Doc."""\n\nfrom b import d\nx = 2\n'),
        ("#!/bin/x\n# why\nx = 1\n", "b", "d", "#!/bin/x\n# why\nfrom b import d\nx = 2\n"),
        (
            "from __future__ import annotations\nx = 1\n",
            "b",
            "d",
            "from __future__ import annotations\nfrom b import d\nx = 2\n",
        ),
        (
            "import a\nif a:\n    from b import c\nx = 1\n",
            "b",
            "d",
            "import a\nfrom b import d\nif a:\n    from b import c\nx = 2\n",
        ),
    ],
)
def test_an_import_comes_with_an_edit(
    text: str, module: str, name: str | None, expected: str
) -> None:
    source = source_of(text)
    edit = replaced(source, first(source, ast.Constant, "1"), "2")
    assert patched(with_import(edit, source, module, name), text) == expected


def test_two_edits_that_need_one_import_get_it_once() -> None:
    text = "import a\nx = 1\ny = 3\n"
    source = source_of(text)
    edits = [
        with_import(replaced(source, first(source, ast.Constant, old), "d"), source, "b", "d")
        for old in ("1", "3")
    ]
    assert patched(both(*edits), text) == "import a\nfrom b import d\nx = d\ny = d\n"


def statement(source: Source, line: int) -> ast.stmt:
    found = source.statement_at(line)
    assert found is not None
    return found


def test_lines_are_put_in_taken_out_and_moved() -> None:
    text = "if x:\n\ta = 1\n\tb = [\n\t\t2,\n\t]  # two\n\tc = 3\n"
    source = source_of(text)
    assert patched(inserted_after(source, statement(source, 3), "d()\n\ne()"), text) == (
        "if x:\n\ta = 1\n\tb = [\n\t\t2,\n\t]  # two\n\td()\n\n\te()\n\tc = 3\n"
    )
    assert patched(inserted_before(source, statement(source, 3), "d()"), text) == (
        "if x:\n\ta = 1\n\td()\n\tb = [\n\t\t2,\n\t]  # two\n\tc = 3\n"
    )
    assert patched(removed(source, statement(source, 3)), text) == "if x:\n\ta = 1\n\tc = 3\n"
    moved = moved_after(source, statement(source, 3), statement(source, 6))
    assert moved is not None
    assert patched(moved, text) == "if x:\n\ta = 1\n\tc = 3\n\tb = [\n\t\t2,\n\t]  # two\n"
    back = moved_after(source, statement(source, 6), statement(source, 2))
    assert back is not None
    assert patched(back, text) == "if x:\n\ta = 1\n\tc = 3\n\tb = [\n\t\t2,\n\t]  # two\n"


def test_the_only_statement_of_a_block_becomes_pass() -> None:
    source = source_of("if x:\n    f()\n")
    assert patched(removed(source, statement(source, 2)), source.text) == "if x:\n    pass\n"


def test_lines_go_to_the_end_of_a_file_without_a_newline() -> None:
    source = source_of("a = 1\nb = 2")
    after = inserted_after(source, statement(source, 2), "c = 3")
    assert patched(after, source.text) == "a = 1\nb = 2\nc = 3"
    moved = moved_after(source, statement(source, 1), statement(source, 2))
    assert moved is not None
    assert patched(moved, source.text) == "b = 2\na = 1"


@pytest.mark.parametrize(
    "text",
    [
        "a = 1\nb = a\n",
        "a = 1\nif b: a = 2\n",
        "def f():\n    return a\na = 1\nf()\n",
        "class C:\n    def f(self):\n        return a\na = 1\nC().f()\n",
        "while x:\n    a = 1\n    if y: break\n    b = 2\n",
        "a = 1; c = 2\nb = 3\n",
        "a = 1\nb = 2; c = 3\n",
        "if x: a = 1\nb = 2\n",
        "a = 1\nif x:\n    b = 2\n",
    ],
)
def test_what_cannot_be_moved_safely_is_not_moved(text: str) -> None:
    source = source_of(text)
    nodes = [node for node in ast.walk(source.tree) if isinstance(node, ast.stmt)]
    moving = next(node for node in nodes if source.segment(node) == "a = 1")
    last = max(nodes, key=lambda node: (node.lineno, node.col_offset))
    assert moved_after(source, moving, last) is None


def test_a_function_that_is_only_defined_in_between_does_not_hinder() -> None:
    text = "opt = make(model)\ndef train():\n    opt.step()\nmodel.head = new()\ntrain()\n"
    source = source_of(text)
    moved = moved_after(source, statement(source, 1), statement(source, 4))
    assert moved is not None
    assert patched(moved, text) == (
        "def train():\n    opt.step()\nmodel.head = new()\nopt = make(model)\ntrain()\n"
    )
    assert moved_after(source, statement(source, 1), statement(source, 5)) is None


def test_a_statement_that_shares_its_line_is_refused() -> None:
    source = source_of("a = 1; b = 2\n")
    with pytest.raises(ValueError, match="line 1 shares its lines"):
        inserted_after(source, source.tree.body[0], "c = 3")


def test_changes_that_overlap_or_lie_outside_are_refused() -> None:
    overlapping = Edit("x.py", (Replace(Span(1, 0, 1, 3), "a"), Replace(Span(1, 2, 1, 4), "b")))
    with pytest.raises(ValueError, match="overlap"):
        patched(overlapping, "abcdef\n")
    for span in (Span(3, 0, 3, 1), Span(1, 0, 1, 7), Span(0, 0, 0, 0)):
        with pytest.raises(ValueError, match="has no line"):
            patched(Edit("x.py", (Replace(span, ""),)), "abcdef\n")


def test_edits_of_two_files_are_not_one() -> None:
    with pytest.raises(ValueError, match=r"a\.py"):
        both(Edit("a.py", ()), Edit("b.py", ()))


def test_a_diff_is_of_python_and_changes_something() -> None:
    source = source_of("x = 1\n")
    with pytest.raises(ValueError, match="as it is"):
        as_diff(replaced(source, first(source, ast.Constant), "1"), source.text)
    with pytest.raises(ValueError, match="no Python"):
        as_diff(replaced(source, first(source, ast.Constant), "("), source.text)


def test_the_form_of_a_diff() -> None:
    text = "".join(f"x{number} = {number}\n" for number in range(9)) + "y = 1"
    source = source_of(text)
    edit = replaced(source, first(source, ast.Constant, "4"), "44")
    assert as_diff(edit, text) == (
        "--- a/train.py\n+++ b/train.py\n@@ -2,7 +2,7 @@\n"
        " x1 = 1\n x2 = 2\n x3 = 3\n-x4 = 4\n+x4 = 44\n x5 = 5\n x6 = 6\n x7 = 7\n"
    )
    at_end = inserted_after(source, source.tree.body[-1], "z = 2")
    assert as_diff(at_end, text).endswith(
        "-y = 1\n\\ No newline at end of file\n+y = 1\n+z = 2\n\\ No newline at end of file\n"
    )


def by_git(folder: Path, diff: bytes) -> None:
    subprocess.run(["git", "apply", "-"], input=diff, cwd=folder, check=True, capture_output=True)


def by_patch(folder: Path, diff: bytes) -> None:
    subprocess.run(["patch", "-p1"], input=diff, cwd=folder, check=True, capture_output=True)


def takes(apply: Callable[[Path, bytes], None], folder: Path, edit: Edit, text: str) -> bytes:
    """The file after a real tool has applied the diff."""
    file = folder / edit.file
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(text.encode())
    apply(folder, as_diff(edit, text).encode())
    return file.read_bytes()


NAMES = st.sampled_from(["x", "größe", "数", "a_b"])
PIECES = st.sampled_from(["1", '"ü\t→"', "'\\x0c'", "f(2,\t3)", "[\n\t1,\n]", '"""\nß\n\n"""'])
LINES = st.one_of(
    st.builds("{} = {}".format, NAMES, PIECES),
    st.builds("if {}:\n\t{} = {}".format, NAMES, NAMES, PIECES),
    st.sampled_from(["", "# \x0c comment ünd\u2028 more", "\x0c", "pass"]),
)


@st.composite
def edits(draw: st.DrawFn) -> tuple[Edit, str]:
    """A file and a change of some of its expressions."""
    newline = draw(st.sampled_from(["\n", "\r\n"]))
    text = "\n".join(["x = 0", *draw(st.lists(LINES, max_size=30))]).replace("\n", newline)
    text = draw(st.sampled_from(["", "\ufeff"])) + text + draw(st.sampled_from(["", newline]))
    source = Source(draw(st.sampled_from(["train.py", "my own/größe.py", 'q"\\.py'])), text)
    values = [node.value for node in ast.walk(source.tree) if isinstance(node, ast.Assign)]
    chosen = draw(st.lists(st.sampled_from(values), min_size=1, unique_by=id))
    new = draw(st.sampled_from(["ö", '"neu"', f"g(\n{' ' * 20}1)".replace("\n", newline)]))
    changes = [change for node in chosen for change in replaced(source, node, new).changes]
    return Edit(source.file, tuple(changes)), text


@given(edits())
def test_what_is_not_named_stays(made: tuple[Edit, str]) -> None:
    edit, text = made
    after = Source(edit.file, patched(edit, text))
    new = {change.text.replace("\r\n", "\n") for change in edit.changes}
    before = Source(edit.file, text)
    old = [node for node in ast.walk(before.tree) if isinstance(node, ast.Assign)]
    now = [node for node in ast.walk(after.tree) if isinstance(node, ast.Assign)]
    changed = {(change.span.line, change.span.column) for change in edit.changes}
    for was, is_ in zip(old, now, strict=True):
        span = before.span(was.value)
        if (span.line, span.column) in changed:
            assert after.segment(is_.value) in new
        else:
            assert after.segment(is_.value) == before.segment(was.value)


@given(made=edits())
@pytest.mark.parametrize("apply", [by_git, by_patch])
def test_real_tools_take_the_diff(
    tmp_path_factory: pytest.TempPathFactory,
    apply: Callable[[Path, bytes], None],
    made: tuple[Edit, str],
) -> None:
    edit, text = made
    folder = tmp_path_factory.mktemp("project")
    assert takes(apply, folder, edit, text) == patched(edit, text).encode()


def test_git_takes_the_diff_in_a_folder_of_a_repository(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True, capture_output=True)
    source = Source("src/train.py", "x = 1\n")
    edit = replaced(source, first(source, ast.Constant), "2")
    (tmp_path / "inner").mkdir()
    assert takes(by_git, tmp_path / "inner", edit, source.text) == b"x = 2\n"
