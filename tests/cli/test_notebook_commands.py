"""Notebooks read and run as scripts are, and told by cell and line."""

import json
from pathlib import Path

import pytest

from notebook_files import notebook
from running import Ran, surefit_run
from surefit import cli

SLICED = (
    "#md # A notebook",
    "%matplotlib inline\n!ls\nimport warnings\n\nimport torch\nimport torch.nn.functional as F",
    "torch.manual_seed(0)\nmodel = torch.nn.Embedding(40, 40)\n"
    "optimizer = torch.optim.SGD(model.parameters(), lr=0.1)",
    "",
    "def loss_of(tokens):\n"
    "    labels = tokens[:, 1:]\n"
    "    return F.cross_entropy(model(tokens)[:, :-1].reshape(-1, 40), labels.view(-1))",
    "%%time\n"
    "for rows in (1, 1, 2, 2, 2):\n"
    "    loss = loss_of(torch.randint(0, 40, (rows, 8)))\n"
    "    optimizer.zero_grad()\n"
    "    loss.backward()\n"
    "    optimizer.step()\n"
    "warnings.warn('all is done')\n"
    "display(open('words.txt').read(), get_ipython().kernel())",
)


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("sliced.ipynb").write_text(notebook(*SLICED))
    Path("words.txt").write_text("some words")


def test_lint_tells_cell_and_line(capsys: pytest.CaptureFixture[str]) -> None:
    document = Path("told.json")
    assert cli.main(["lint", "--json", str(document), "."]) == 0
    told = capsys.readouterr().err
    assert "── warning: view-of-a-slice " in told
    assert " sliced.ipynb, cell 3, line 3 ── SF302" in told
    assert "    3 │ …" in told
    assert "        cell 3\n    3 - " in told
    (finding,) = json.loads(document.read_text())["findings"]
    assert finding["place"] == {
        **{"file": "sliced.ipynb", "line": 3, "end_line": 3, "cell": 3},
        **{"column": 67, "end_column": 82},
    }
    assert '\n-    "    return F.cross_entropy(' in finding["fixes"][0]["patch"]


def test_a_comment_in_a_cell_allows() -> None:
    cells = [
        one.replace("labels.view(-1))", "labels.view(-1))  # surefit: allow[view-of-a-slice]")
        for one in SLICED
    ]
    Path("sliced.ipynb").write_text(notebook(*cells))
    assert cli.main(["lint", "--json", "told.json", "sliced.ipynb"]) == 0
    assert json.loads(Path("told.json").read_text())["findings"] == []


@pytest.mark.parametrize("command", ["lint", "run"])
@pytest.mark.parametrize(
    ("text", "code", "said"),
    [
        ("{", 2, "it is not JSON"),
        ("[]", 2, "it is JSON, but no notebook"),
        (notebook("x <- 1", language="R"), 2, "its language is R"),
        (notebook("x = 1", "y = 2\nx = ("), 1, "'(' was never closed"),
    ],
)
def test_what_is_refused(
    command: str, text: str, code: int, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("odd.ipynb").write_text(text)
    assert cli.main([command, "odd.ipynb"]) == code
    told = capsys.readouterr().err
    assert said in " ".join(told.split())
    if code == 1:
        assert "odd.ipynb, cell 2, line 2" in told


def test_a_notebook_that_is_missing(capsys: pytest.CaptureFixture[str]) -> None:
    for command in ("lint", "run"):
        assert cli.main([command, "slced.ipynb"]) == 2
        assert "Write `sliced.ipynb`, the nearest name." in capsys.readouterr().err


def test_other_languages_in_a_folder_are_passed_over() -> None:
    Path("other.ipynb").write_text(notebook("x <- 1", language="R"))
    Path("sliced.ipynb").unlink()
    assert cli.main(["lint", "--json", "told.json"]) == 0
    assert json.loads(Path("told.json").read_text())["findings"] == []


def run(*flags: str) -> Ran:
    return surefit_run(["sliced.ipynb"], Path.cwd(), flags)


@pytest.mark.slow
def test_a_notebook_is_run_diagnosed_and_mended() -> None:
    ran = run("--fix")
    assert ran.code == 1
    assert f'File "{Path.cwd() / "sliced.ipynb"}, cell 4", line 3, in <module>' in ran.err
    assert "    loss = loss_of(torch.randint(0, 40, (rows, 8)))\n" in ran.err
    (finding,) = ran.document["findings"]
    assert finding["rule"] == "view-of-a-slice"
    assert finding["place"]["cell"] == 3
    assert finding["fixes"][0]["proof"]["status"] == "held", finding["fixes"]
    assert finding["fixes"][0]["proof"]["said"].startswith("tried on a copy: 2 steps past")
    assert ran.document["not_observed"] == [
        "sliced.ipynb, cell 1, line 2: `!ls` was left out: only the Python of a notebook is run"
    ]
    assert "sliced.ipynb is patched: view-of-a-slice" in ran.err

    again = run()
    assert again.code == 0
    assert again.document["findings"] == []
    assert again.out == "some words None\n"
    assert "sliced.ipynb, cell 4:7: UserWarning: all is done" in again.err


def test_an_error_that_a_notebook_keeps_is_explained(capsys: pytest.CaptureFixture[str]) -> None:
    document = json.loads(Path("sliced.ipynb").read_text())
    document["cells"][5]["outputs"] = [
        {
            "output_type": "error",
            "traceback": [
                "-" * 75,
                "RuntimeError                  Traceback (most recent call last)",
                "Cell In[4], line 3\n      2 for rows in (1, 2):\n----> 3     loss = loss_of()\n",
                "RuntimeError: view size is not compatible with input tensor's size and stride",
            ],
        }
    ]
    Path("sliced.ipynb").write_text(json.dumps(document))
    assert cli.main(["explain", "sliced.ipynb"]) == 0
    told = capsys.readouterr().out
    assert "cell 4, line 3" in told
    assert "\n  view-of-a-slice  SF302\n" in told
    assert "\n  surefit run sliced.ipynb\n" in told
