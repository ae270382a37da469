"""Findings as text for people."""

from io import StringIO
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.console import Console

from surefit.doctor.findings import Fact, Finding, Fix, Place, Proof, Severity
from surefit.render.marks import read_lines
from surefit.render.terminal import show, text
from surefit.render.visible import visible

PATCH = """\
--- a/collate.py
+++ b/collate.py
@@ -8,3 +8,3 @@
 tokenizer = load()
-collate = DataCollatorWithPadding(tokenizer)
+collate = DataCollatorForSeq2Seq(tokenizer)
 loader = DataLoader(rows, collate_fn=collate)
"""

RAGGED = Finding(
    "ragged-labels",
    "SF201",
    Severity.ERROR,
    Place("collate.py", 9),
    "`DataCollatorWithPadding` does not pad `labels`, and the 4 rows of this batch have `labels` "
    "of 3 different lengths.",
    facts=(
        Fact("it pads", "input_ids, attention_mask"),
        Fact("lengths of `labels`", "412, 87, 233, 412"),
        Fact("places to fill", "504, beside 1144 real labels"),
    ),
    ruled_out=(Fact("shared rows", "no two rows share a list; a copy changes nothing"),),
    why="`labels` came from your dataset; the tokenizer pads only what it made itself.",
    fixes=(
        Fix(
            "Use `DataCollatorForSeq2Seq`, which pads `labels` too, with -100.",
            patch=PATCH,
            proof=Proof("held", "tried on a copy: labels are 4 × 412; the loss still sees 1144"),
        ),
    ),
    python_said="ValueError: Unable to create tensor, you should probably ...",
)

RAGGED_TEXT = """\
── error: ragged-labels ────────────────────────────────── collate.py:9 ── SF201
`DataCollatorWithPadding` does not pad `labels`, and the 4 rows of this batch
have `labels` of 3 different lengths.
    9 │ collate = DataCollatorWithPadding(tokenizer)
      │           ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  seen       it pads              input_ids, attention_mask
  seen       lengths of `labels`  412, 87, 233, 412
  seen       places to fill       504, beside 1144 real labels
  ruled out  shared rows          no two rows share a list; a copy changes
                                  nothing
  why        `labels` came from your dataset; the tokenizer pads only what it
             made itself.
  fix        Use `DataCollatorForSeq2Seq`, which pads `labels` too, with -100.
    9 - collate = DataCollatorWithPadding(tokenizer)
      + collate = DataCollatorForSeq2Seq(tokenizer)
  proof      tried on a copy: labels are 4 × 412; the loss still sees 1144
  python     ValueError: Unable to create tensor, you should probably ..."""


def a_line(found: str) -> list[str]:
    return [found]


def finding(
    place: Place = Place("train.py"),  # noqa: B008 - frozen
    headline: str = "It fails.",
    facts: tuple[Fact, ...] = (),
    fixes: tuple[Fix, ...] = (),
    python_said: str = "",
) -> Finding:
    return Finding(
        "a-fault",
        "SF900",
        Severity.WARNING,
        place,
        headline,
        facts,
        fixes=fixes,
        python_said=python_said,
    )


def nothing(_file: str, _first: int, _last: int) -> list[str]:
    return []


def test_a_finding_with_all_its_parts() -> None:
    def source(file: str, first: int, last: int) -> list[str]:
        assert (file, first, last) == ("collate.py", 9, 9)
        return ["collate = DataCollatorWithPadding(tokenizer)"]

    assert text([RAGGED], read_source=source) == RAGGED_TEXT
    assert text([RAGGED, RAGGED], read_source=source) == f"{RAGGED_TEXT}\n\n{RAGGED_TEXT}"


def test_a_row_of_a_file_without_lines() -> None:
    assert text([finding(Place("rows.parquet", row=17), "`target` is null.")]) == (
        "── warning: a-fault ────────────────────────────── rows.parquet, row 17 ── SF900\n"
        "`target` is null."
    )


def test_a_long_path_loses_its_left_and_is_told_in_full_below() -> None:
    path = "/a/folder" + "/with-a-long-name" * 8 + "/rows.jsonl"
    header, headline, *where = text([finding(Place(path, 3))], read_source=nothing).splitlines()
    assert cell_len(header) == 80
    assert "── …" in header
    assert header.endswith("/rows.jsonl:3 ── SF900")
    assert headline == "It fails."
    assert where[0].startswith("  where      /a/folder/with")
    assert "".join(line.removeprefix("  where").strip() for line in where) == f"{path}:3"


def test_what_a_terminal_would_obey_is_shown_instead() -> None:
    nasty = "red \x1b[31m bell \x07 back \x08 eight-bit \x9b31m right-to-left \u202e lone \udc80"
    shown = text(
        [finding(Place(f"{nasty}.jsonl", 1), nasty, (Fact(nasty, nasty),), python_said=nasty)],
        read_source=lambda *_: [nasty],
    )
    assert "\\x1b[31m" in shown
    assert "\\u202e" in shown
    assert not set(shown) & set("\x1b\x07\x08\x9b\u202e\udc80")
    shown.encode("utf-8")


def test_markup_and_emoji_names_are_shown_as_written() -> None:
    console = Console(file=StringIO(), force_terminal=True, width=80, color_system=None)
    show([finding(headline="[red]`x`[/red] :smile: [link=a]b[/link]")], console)
    assert isinstance(console.file, StringIO)
    assert "[red]`x`[/red] :smile: [link=a]b[/link]" in console.file.getvalue()


def test_a_console_shows_the_same_text_in_colour() -> None:
    coloured = Console(
        file=StringIO(), force_terminal=True, width=120, color_system="truecolor", no_color=False
    )
    plain = Console(file=StringIO(), width=200)
    for console in (coloured, plain):
        show([RAGGED], console, lambda *_: a_line("collate = DataCollatorWithPadding(tokenizer)"))
    assert isinstance(plain.file, StringIO)
    assert isinstance(coloured.file, StringIO)
    lines = plain.file.getvalue().splitlines()
    assert "\n".join(line.rstrip() for line in lines).rstrip() == RAGGED_TEXT
    assert "\x1b[1;31merror: ragged-labels" in coloured.file.getvalue()


def test_a_long_line_of_data_is_cut_around_what_the_headline_names() -> None:
    row = '{"input": "' + "日本" * 100 + '", "target": 3, "more": "' + "x" * 100 + '"}'
    _, _, shown, mark = text(
        [finding(Place("rows.jsonl", 2), "`target` is a number.")], read_source=lambda *_: [row]
    ).splitlines()
    assert cell_len(shown) == 80
    before = shown.index("target")
    assert cell_len(shown[:before]) == mark.index("^")
    assert mark.count("^") == len("target")


def test_a_line_of_data_in_which_nothing_is_named_has_no_mark() -> None:
    shown = text([finding(Place("rows.jsonl", 2))], read_source=lambda *_: ['\t{"a": 1}'])
    assert shown.splitlines()[2:] == ['    2 │ \\t{"a": 1}']


def test_a_line_of_code_in_which_nothing_is_named_is_marked_whole() -> None:
    shown = text([finding(Place("a.py", 2))], read_source=lambda *_: ["\tppl = 1"])
    assert shown.splitlines()[2:] == ["    2 │     ppl = 1", "      │     ^^^^^^^"]


def test_the_mark_is_under_the_whole_call() -> None:
    for source, mark in [
        ("return self.proj(f(x)) + 1", "       ^^^^^^^^^^^^^^^"),
        ("proj = 1", "^^^^"),
        ("y = proj(f(", "    ^^^^"),
        ("f(proj)", "  ^^^^"),
    ]:
        found = finding(Place("a.py", 2), "`proj` is wrong.")
        shown = text([found], read_source=lambda *_, source=source: [source])
        assert shown.splitlines()[3] == f"      │ {mark}"


def test_several_lines_are_shown_without_a_mark() -> None:
    shown = text([finding(Place("a.py", 2, 3))], read_source=lambda *_: ["f(", ")"])
    assert shown.splitlines()[2:] == ["    2 │ f(", "    3 │ )"]


def test_lines_are_read_from_text_files_only(tmp_path: Path) -> None:
    file = tmp_path / "rows.jsonl"
    file.write_bytes(b"one\r\ntwo \xff\nthree\0\n")
    assert read_lines(str(file), 1, 2) == ["one", "two \\xff"]
    assert read_lines(str(file), 3, 3) == []
    assert read_lines(str(file), 9, 9) == []
    assert read_lines(str(tmp_path / "none"), 1, 1) == []
    assert read_lines(str(tmp_path), 1, 1) == []
    assert read_lines("a\0b", 1, 1) == []


def test_a_patch_that_only_adds_shows_the_line_before() -> None:
    patch = "--- a/a.py\n+++ b/a.py\n@@ -3,2 +3,3 @@\n import torch\n+import peft\n x = 1\n"
    shown = text([finding(fixes=(Fix("Import it.", patch=patch),))])
    assert shown.splitlines()[2:] == [
        "  fix        Import it.",
        "    3   import torch",
        "      + import peft",
    ]


def test_a_choice_says_that_it_is_one() -> None:
    shown = text([finding(fixes=(Fix("Declare 4000.", choice=True), Fix("Read other data.")))])
    assert [line for line in shown.splitlines() if line.startswith("  fix")] == [
        "  fix        Your choice: Declare 4000.",
        "  fix        Read other data.",
    ]


def test_a_proof_that_two_fixes_share_is_told_once_after_both() -> None:
    proof = Proof("not-tried", "neither was tried: only you know which width is meant")
    shown = text([finding(fixes=(Fix("One.", proof=proof), Fix("Other.", proof=proof)))])
    assert [line.split()[0] for line in shown.splitlines()[2:]] == ["fix", "fix", "proof"]


def test_a_name_too_long_for_its_column_gets_a_line() -> None:
    shown = text(
        [finding(facts=(Fact("short", "1"), Fact("a name of very many words indeed", "2")))]
    )
    assert shown.splitlines()[2:] == [
        "  seen       short  1",
        "  seen       a name of very many words indeed",
        "                    2",
    ]


def test_python_is_quoted_in_a_few_lines() -> None:
    shown = text([finding(python_said="word " * 200)]).splitlines()[2:]
    assert len(shown) == 4
    assert shown[-1].endswith("…")


anything = st.text(max_size=30).map(lambda some: some * 4)
words = st.lists(st.text("abcdefgh12`日é", min_size=1, max_size=20), min_size=1, max_size=40)
any_findings = st.builds(
    Finding,
    rule=st.text(min_size=1, max_size=60),
    code=st.just("SF123"),
    severity=st.sampled_from(Severity),
    place=st.builds(Place, anything, st.none() | st.integers(1, 10**6)),
    headline=anything,
    facts=st.lists(st.builds(Fact, anything, anything), max_size=3),
    ruled_out=st.lists(st.builds(Fact, anything, anything), max_size=2),
    why=anything,
    fixes=st.lists(
        st.builds(
            Fix, anything, st.none() | st.just(PATCH) | anything, st.builds(Proof, said=anything)
        ),
        max_size=2,
    ),
    python_said=anything,
)


@settings(max_examples=60, deadline=None)
@given(any_findings, anything, st.sampled_from([40, 60, 80]))
def test_no_line_is_wider_than_asked(found: Finding, source: str, width: int) -> None:
    shown = text([found], width, lambda *_: [source])
    lines = shown.split("\n")
    assert all(cell_len(line) <= width for line in lines), lines
    assert cell_len(lines[0]) == width
    assert visible(shown, keep="\n") == shown


@settings(max_examples=50, deadline=None)
@given(words, words, words)
def test_no_word_of_a_fact_is_lost(name: list[str], value: list[str], why: list[str]) -> None:
    fact = Fact(" ".join(name), " ".join(value))
    shown = text([finding(facts=(fact,), headline=" ".join(why))], read_source=nothing).split()
    assert [word for word in shown if word != "seen"][-len(name) - len(value) :] == name + value
    assert shown[shown.index("SF900") + 1 :][: len(why)] == why
