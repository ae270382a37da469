"""`surefit explain` prints a rule's page, from the page or from the rule alone."""

import io
import json
from pathlib import Path

import pytest

from surefit import cli
from surefit.cli.explain import reflowed
from surefit.doctor import pages
from surefit.doctor.catalogue import rules
from surefit.doctor.findings import Severity
from surefit.doctor.pages import Example, fenced, page, refusals
from surefit.doctor.rule import Rule

RULE = Rule("SF998", "odd-call", Severity.WARNING, "One\nsentence.\n\n## What happens\nThis.\n")


@pytest.mark.parametrize("name", ["ragged-labels", "SF201", "sf201", "ragged_labels"])
def test_by_name_and_by_code(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["explain", name]) == 0
    told = capsys.readouterr().out
    assert told.startswith("# ragged-labels\n\n`SF201`, error\n\nLabel rows of different lengths")
    assert "\n## What to do\n" in told


def test_without_a_page_the_rule_itself_is_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(pages, "PAGES", (tmp_path / "nowhere", tmp_path))
    (tmp_path / "feature-width-mismatch.md").write_text("The page.\n")
    assert cli.main(["explain", "SF301"]) == 0
    assert capsys.readouterr().out.strip() == "The page."
    assert cli.main(["explain", "SF201"]) == 0
    told = capsys.readouterr().out
    assert "\n## How it is recognised\n" in told
    assert "## Example" not in told


def test_refusals_have_a_name_and_an_explanation(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["explain", "no-pad-token"]) == 0
    assert capsys.readouterr().out.startswith("# no-pad-token\n\n`SF152`, error\n\n")
    by_name = {rule.name: rule for rule in refusals()}
    assert by_name["unknown-allowance"].severity is Severity.NOTE
    assert not {rule.name for rule in rules()} & set(by_name)


def test_a_name_that_there_is_not(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["explain", "raged-labels"]) == 2
    told = capsys.readouterr().err
    assert "There is no rule and no file named `raged-labels`." in told
    assert "Write `surefit explain ragged-labels`, the nearest name." in told
    assert cli.main(["explain", "xyz"]) == 2
    assert "ragged-labels" in capsys.readouterr().err


def test_the_page_as_json(tmp_path: Path) -> None:
    file = tmp_path / "page.json"
    assert cli.main(["explain", "SF201", "--json", str(file)]) == 0
    document = json.loads(file.read_bytes())
    assert document["command"] == "explain"
    assert document["page"].startswith("# ragged-labels\n")


def test_a_page_with_its_example() -> None:
    made = page(RULE, Example("x = '```'\n", "── error\n", "x = 1\n"))
    assert made == (
        "# odd-call\n\n`SF998`, warning\n\nOne\nsentence.\n\n## What happens\nThis.\n\n"
        "## Example\n\n````python\nx = '```'\n````\n\n"
        "`surefit run bad.py` says:\n\n```text\n── error\n```\n\n"
        "Mended:\n\n```python\nx = 1\n```\n"
    )
    assert pages.summary(RULE) == "One sentence."


def test_a_fence_is_longer_than_any_in_the_text() -> None:
    assert fenced("a `b` ````\n", "text") == "`````text\na `b` ````\n`````"


def test_paragraphs_are_wrapped_and_code_is_not() -> None:
    long = "word " * 40
    text = f"# Title\n{long}\n{long}\n\n- item\n\n```python\n{long}\n```\nend\n"
    lines = list(reflowed(text))
    assert lines[0] == "# Title"
    assert max(map(len, lines[1:6])) <= 80
    assert lines.count(long) == 1
    assert "- item" in lines
    assert " ".join(" ".join(lines).split()) == " ".join(text.split())


def test_a_case_is_an_example_if_all_of_it_is_there(tmp_path: Path) -> None:
    for name in ("bad.py", "diagnosis.txt"):
        (tmp_path / name).write_text(name)
        assert pages.example(tmp_path) is None
    (tmp_path / "good.py").write_text("good")
    assert pages.example(tmp_path) == Example("bad.py", "diagnosis.txt", "good")


CRASHED = """\
step 3  loss 2.31
Traceback (most recent call last):
  File "{script}", line 3, in <module>
    train(model)
  File "{script}", line 2, in train
    return model(rows)
  File "/opt/lib/python3.11/site-packages/torch/nn/modules/linear.py", line 134, in forward
    return F.linear(input, self.weight, self.bias)
RuntimeError: mat1 and mat2 shapes cannot be multiplied (64x30 and 32x10)
"""


@pytest.fixture
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.py").write_text("def train(model):\n    return model(rows)\n")
    file = tmp_path / "run.log"
    file.write_text(CRASHED.format(script=tmp_path / "train.py"))
    return file


def piped(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text.encode())))


def test_a_traceback_says_what_fits_and_who_would_know(
    log: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["explain", log.name]) == 0
    told = capsys.readouterr().out
    assert "RuntimeError: mat1 and mat2 shapes cannot be multiplied (64x30" in told
    assert "    2 │ return model(rows)\n" in told
    assert "  raised in  torch/nn/modules/linear.py:134 in forward\n" in told
    assert "\n  feature-width-mismatch  SF301\n" in told
    assert "\n  surefit run train.py\n" in told
    assert all(len(line) <= 80 for line in told.splitlines())


def test_a_message_alone_is_a_note(log: Path, tmp_path: Path) -> None:
    document = tmp_path / "told.json"
    assert cli.main(["explain", str(log), "--json", str(document)]) == 0
    told = json.loads(document.read_text())
    assert told["script"] == "train.py"
    assert told["ended"]["exception"].startswith("RuntimeError: mat1")
    assert {one["severity"] for one in told["findings"]} == {"note"}
    (finding,) = [one for one in told["findings"] if one["rule"] == "feature-width-mismatch"]
    assert (finding["place"]["file"], finding["place"]["line"]) == ("train.py", 2)
    assert finding["fixes"][0]["proof"]["status"] == "not-tried"
    assert "`surefit run train.py`" in finding["fixes"][0]["text"]


def test_standard_input(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for words in (["explain", "-"], ["explain"]):
        piped(CRASHED.format(script="train.py"), monkeypatch)
        assert cli.main(words) == 0
        assert "train.py:2 in train" in capsys.readouterr().out


def test_a_file_that_has_changed_since_is_said(
    log: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("train.py").write_text("def train(model):\n    return model(batch)\n")
    assert cli.main(["explain", log.name]) == 0
    told = capsys.readouterr().out
    assert "    2 │ return model(rows)\n" in told
    assert "this line of the file is now: return model(batch)" in told


def test_what_no_rule_knows(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    piped("RuntimeError: a fault of nobody's\n", monkeypatch)
    assert cli.main(["explain", "--brief"]) == 0
    assert capsys.readouterr().err.strip() == (
        "traceback: note unrecognised-crash: No rule fits what Python said."
    )


@pytest.mark.parametrize(
    ("text", "code", "said"),
    [
        ("", 2, "The input is empty."),
        ("  \n", 2, "The input is empty."),
        ("step 1  loss 2.3\n", 1, "The input has no traceback and no losses"),
    ],
)
def test_nothing_to_explain(
    text: str,
    code: int,
    said: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    piped(text, monkeypatch)
    assert cli.main(["explain", "-"]) == code
    assert said in capsys.readouterr().err


def test_files_that_cannot_be_explained(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert cli.main(["explain", "nowhere.log"]) == 2
    assert "`nowhere.log` cannot be read: No such file or directory." in capsys.readouterr().err
    assert cli.main(["explain", str(tmp_path)]) == 2
    assert "has no training log." in " ".join(capsys.readouterr().err.split())
    Path("train.py").write_text("import torch\n")
    assert cli.main(["explain", "train.py"]) == 1
    assert "Run it with `surefit run train.py`" in capsys.readouterr().err
    Path("odd.log").write_bytes(b"\xff\x00\nKeyError: '\xff'\n")
    assert cli.main(["explain", "odd.log"]) == 0
    assert "KeyError: '\\xff'" in capsys.readouterr().out
