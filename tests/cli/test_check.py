"""`surefit check` reads a script and runs it to its first step in a copy, and says so."""

import json
from contextlib import chdir, nullcontext
from pathlib import Path
from typing import Any

import pytest

import forked
from notebook_files import notebook
from running import written
from surefit import cli, preflight
from surefit.cli.check import script_in

TRAINS = """
    import sys
    from pathlib import Path

    import torch

    torch.manual_seed(0)
    print("starts", sys.argv[1:])
    model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.BatchNorm1d(8))
    optimizer = torch.optim.AdamW(model.parameters())
    for step in range(3):
        loss = model(torch.randn(16, 4)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        Path("steps.txt").write_text(str(step))
        optimizer.step()
    raise SystemExit("too far")
"""


class Checked:
    """What a check gave back."""

    def __init__(self, folder: Path, *words: str) -> None:
        file = folder.parent / "told.json"
        texts = [path.read_text() for path in folder.iterdir()]
        forks = forked.forking() if any("torch" in text for text in texts) else nullcontext()
        with chdir(folder), forks, forked.captured() as said:
            self.code = cli.main(["check", "--json", str(file), *words])
        self.out, self.err = said.out, said.err
        self.document: dict[str, Any] = json.loads(file.read_text())
        self.findings = self.document["findings"]
        self.rules = [one["rule"] for one in self.findings]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "project"
    made.mkdir()
    return made


@pytest.mark.slow
def test_a_script_is_run_to_its_first_step_and_writes_nothing(folder: Path) -> None:
    script = written(folder, train=TRAINS)
    made = Checked(folder, script.name, "--lr", "3e-4")
    assert made.code == 0, made.err
    assert made.findings == []
    assert sorted(path.name for path in folder.iterdir()) == ["train.py"]
    assert "Lint: no findings\n" in made.out
    assert "Ran to its first optimizer step, in a copy: " in made.out
    assert ", loss " in made.out
    assert "Not checked: evaluation and save: the script ended without it" in made.out
    assert made.document["not_observed"][-1].startswith("not checked: later batches")
    assert made.document["script"] == "train.py"
    assert "starts" not in made.out + made.err


@pytest.mark.slow
def test_the_first_batch_fails(folder: Path) -> None:
    made = Checked(folder, written(folder, train=TRAINS.replace("(16, 4)", "(16, 5)")).name)
    assert made.code == 1
    assert made.rules == ["feature-width-mismatch"]
    assert made.findings[0]["place"]["file"] == "train.py"
    assert made.document["ended"]["exception"].startswith("RuntimeError: mat1 and mat2")


SLICED = """
    import torch
    import torch.nn.functional as F

    torch.manual_seed(0)
    model = torch.nn.Embedding(40, 40)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for rows in {rows}:
        tokens = torch.randint(0, 40, (rows, 8))
        labels = tokens[:, 1:]
        loss = F.cross_entropy(model(tokens)[:, :-1].reshape(-1, 40), labels.view(-1))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
"""


@pytest.mark.slow
def test_what_was_read_is_told_beside_what_was_seen(folder: Path) -> None:
    script = written(folder, train=SLICED.format(rows="(1, 2, 2)"))
    made = Checked(folder, "--further", "0", script.name)
    assert made.code == 0
    assert [(one["rule"], one["severity"]) for one in made.findings] == [
        ("view-of-a-slice", "warning")
    ]


@pytest.mark.slow
def test_one_fault_is_told_once_and_its_fix_is_proved(folder: Path) -> None:
    script = written(folder, train=SLICED.format(rows="(2, 2, 2)"))
    made = Checked(folder, script.name)
    assert made.code == 1
    assert [(one["rule"], one["severity"]) for one in made.findings] == [
        ("view-of-a-slice", "error")
    ]
    assert made.findings[0]["fixes"][0]["proof"]["status"] == "held"


@pytest.mark.slow
def test_a_notebook_is_checked(folder: Path) -> None:
    cells = [part.strip("\n") for part in ("import torch\n!ls", "x = torch.ones(2)\nx.view(3)")]
    (folder / "train.ipynb").write_text(notebook(*cells))
    made = Checked(folder, "--no-proof", "train.ipynb")
    assert made.code == 1
    assert made.findings[0]["place"] == {
        "file": "train.ipynb",
        "line": 2,
        "end_line": None,
        "cell": 2,
        "column": 1,
        "end_column": 2,
    }
    assert made.document["not_observed"][0].startswith("train.ipynb, cell 1, line 2: `!ls`")


HARD_CODED = """
    import torch
    from torch.utils.data import DataLoader, IterableDataset, TensorDataset

    class Stream(IterableDataset):
        def __iter__(self):
            return iter(range(64))

    next(iter(DataLoader(Stream(), batch_size=16)))
    torch.manual_seed(0)
    rows = TensorDataset(torch.randn(64, 6), torch.randn(64))
    model = torch.nn.Sequential(torch.nn.Linear(6, 4), torch.nn.BatchNorm1d(4))
    optimizer = torch.optim.AdamW(model.parameters())
    for features, targets in DataLoader(rows, batch_size=32, shuffle=True):
        scores = model(features).mean(1).view(32)
        loss = (scores - targets).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
"""


@pytest.mark.slow
def test_what_fails_on_few_rows_alone_is_no_finding(folder: Path) -> None:
    made = Checked(folder, written(folder, train=HARD_CODED).name)
    assert [one for one in made.findings if one["severity"] == "error"] == []
    assert made.code == 0, made.err
    assert "Batches of train.py:8 are not cut: its dataset is a stream" in made.out
    assert "With 4 rows of 32 it stopped at train.py:14 (RuntimeError: shape '[32]'" in made.out
    assert ", but not with full batches\n" in made.out
    assert "Ran to its first optimizer step, in a copy: " in made.out
    batches = made.document["batches"]
    assert [(one["place"]["line"], one["rows"]) for one in batches["shrunk"]] == [(13, 32)]
    assert batches["told_of"] == "own"


BY_WORKERS = """
    import torch
    from torch.utils.data import DataLoader, Dataset

    class Rows(Dataset):
        def __len__(self):
            return 64

        def __getitem__(self, number):
            with open("read.txt", "a") as file:
                file.write("row\\n")
            return torch.ones(5) * number

    model = torch.nn.Linear({width}, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    batch = next(iter(DataLoader(Rows(), batch_size=32, num_workers=1, prefetch_factor=1)))
    print(len(open("read.txt").readlines()), "rows were read")
    loss = model(batch).square().mean()
    loss.backward()
    optimizer.step()
"""


@pytest.mark.slow
def test_a_fault_is_found_with_few_rows_and_told_with_all(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs: list[preflight.Ran] = []
    plain = preflight.run_to_its_first_step

    def noted(*given: Any) -> preflight.Ran:
        runs.append(plain(*given))
        return runs[-1]

    monkeypatch.setattr(preflight, "run_to_its_first_step", noted)
    made = Checked(folder, "--no-proof", written(folder, train=BY_WORKERS.format(width=6)).name)
    assert made.code == 1
    assert made.rules == ["feature-width-mismatch"]
    assert "(32, 5)" in json.dumps(made.findings)  # not (4, 5)
    read = [int(one.printed.split()[0]) for one in runs]
    assert read[0] in (4, 8)  # a worker can be a batch ahead
    assert read[1] >= 32
    assert made.document["batches"]["shrunk"][0]["kept"] == 4
    assert made.document["batches"]["differs"] is None


TRAINER = """
    import torch
    from transformers import Trainer, TrainingArguments

    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = torch.nn.Linear(4, 2)

        def forward(self, features, labels):
            assert len(features) == 4, len(features)
            logits = self.layer(features)
            return {"loss": torch.nn.functional.cross_entropy(logits, labels), "logits": logits}

    rows = [{"features": torch.randn(4), "labels": number % 2} for number in range(64)]
    arguments = TrainingArguments("out", per_device_train_batch_size=16, report_to=[], use_cpu=True)
    Trainer(Model(), arguments, train_dataset=rows).train()
"""


@pytest.mark.slow
def test_batches_of_a_trainer_are_cut(folder: Path) -> None:
    made = Checked(folder, written(folder, train=TRAINER).name)
    assert made.code == 0, made.err
    assert made.findings == []
    reached = "Ran to its first optimizer step and its first save, in a copy, on 4 rows of 16: "
    assert reached in made.out
    assert "Not checked: full batches (cut: 16 -> 4 rows): " in made.out
    assert made.document["batches"]["told_of"] == "shrunk"
    assert made.document["not_observed"][-3].startswith("not checked: full batches")


def test_a_script_that_ends_early(folder: Path) -> None:
    made = Checked(folder, written(folder, train="print('usage: x')\nraise SystemExit(3)\n").name)
    assert made.code == 1
    assert made.rules == ["not-checked"]
    assert "The script exited with code 3 after" in made.findings[0]["headline"]
    assert made.findings[0]["facts"] == [{"name": "last output", "value": "usage: x"}]


def test_a_script_without_a_step(folder: Path) -> None:
    made = Checked(folder, written(folder, train="print('done')\n").name)
    assert made.code == 0
    assert [(one["rule"], one["severity"]) for one in made.findings] == [
        ("no-optimizer-step", "warning")
    ]
    assert "Not checked" not in made.out


def test_a_script_that_takes_too_long(folder: Path) -> None:
    script = written(folder, train="import time\ntime.sleep(300)\n")
    made = Checked(folder, "--seconds", "2", script.name)
    assert made.code == 1
    assert made.rules == ["not-checked"]
    assert "reached no optimizer step within" in made.findings[0]["headline"]
    assert "Allow more time: `--seconds " in made.findings[0]["fixes"][0]["text"]


def test_a_script_that_reaches_outside(folder: Path) -> None:
    script = written(folder, train=f"open({str(Path.home() / 'x.txt')!r}, 'w')\n")
    made = Checked(folder, script.name)
    assert made.code == 1
    assert made.rules == ["not-checked"]
    assert "it writes to " in made.findings[0]["headline"]
    assert not (Path.home() / "x.txt").exists()


@pytest.mark.parametrize(
    ("error", "rule"),
    [("ConnectionError('offline')", "not-checked"), ("KeyError('x')", "unrecognised-crash")],
)
def test_what_only_a_copy_lacks_is_no_fault_of_the_script(
    folder: Path, error: str, rule: str
) -> None:
    text = f"try:\n    raise {error}\nexcept Exception as error:\n    raise OSError() from error\n"
    made = Checked(folder, written(folder, train=text).name)
    assert made.code == 1
    assert made.rules == [rule]


def test_what_a_launcher_is_given_is_read(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    (folder / "package").mkdir()
    (folder / "package" / "train.py").touch()
    assert script_in(["torchrun", "--nproc-per-node", "2", "package/train.py", "a.py"]) == (
        "package/train.py"
    )
    assert script_in(["-m", "package.train"]) == "package/train.py"
    assert script_in(["-m", "package.other"]) is None


def test_wrong_calls(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(folder)
    assert cli.main(["check"]) == 2
    assert "`surefit check` needs a script." in capsys.readouterr().err
    assert cli.main(["check", "train.py"]) == 2
    assert "There is no file and no command named `train.py`" in capsys.readouterr().err
    (folder / "odd.ipynb").write_text("{")
    assert cli.main(["check", "odd.ipynb"]) == 2
    assert "it is not JSON" in capsys.readouterr().err
    (folder / "train.py").touch()
    assert cli.main(["check", "--rows", "1", "train.py"]) == 2
    assert "`rows` must be 0 or at least 2 and is 1." in capsys.readouterr().err


def test_help_has_an_example(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["check", "--help"]) == 0
    assert "surefit check train.py --lr 3e-4" in capsys.readouterr().out


EVALUATES = """
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset

    torch.manual_seed(0)
    rows = TensorDataset(torch.randn(4000, 4), torch.randint(2, (4000,)))
    loader = DataLoader(rows, batch_size=8, shuffle=True)
    model = nn.Linear(4, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)

    def evaluate():
        model.eval()
        with torch.no_grad():
            for features, labels in loader:
                {evaluation}
        model.train()

    for epoch in range(1000):
        for features, labels in loader:
            loss = nn.functional.cross_entropy(model(features), labels) {factor}
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        evaluate()
        {after}
        torch.save(model.state_dict(), "model.pt")
"""


def evaluates(folder: Path, **parts: str) -> Checked:
    plain = {"evaluation": "model(features)", "factor": "", "after": "pass"}
    return Checked(folder, written(folder, train=EVALUATES.format(**{**plain, **parts})).name)


@pytest.mark.slow
def test_it_goes_on_to_the_first_evaluation_and_the_first_save(folder: Path) -> None:
    made = evaluates(folder)
    assert (made.code, made.findings) == (0, [])
    reached = "Ran to its first optimizer step, its first evaluation and its first save, in a copy"
    assert reached in made.out
    assert "Not checked: evaluation" not in made.out
    assert sorted(path.name for path in folder.iterdir()) == ["train.py"]


@pytest.mark.slow
def test_an_evaluation_that_fails_is_met(folder: Path) -> None:
    made = evaluates(folder, evaluation="model(features[:, :3])")
    assert (made.code, made.rules) == (1, ["feature-width-mismatch"])


@pytest.mark.slow
def test_a_loss_that_is_not_finite_is_an_error(folder: Path) -> None:
    made = evaluates(folder, factor="* float('nan')")
    assert made.code == 1
    assert "error" in {one["severity"] for one in made.findings}


@pytest.mark.slow
def test_a_broken_law_is_an_error(folder: Path) -> None:
    step = "model(features).sum().backward(); optimizer.step()"
    state = f"state = model.state_dict(); {step}; model.load_state_dict(state)"
    made = evaluates(folder, after=state)
    assert (made.code, made.rules) == (1, ["state-dict-not-copied"])


MIXES = """
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset

    torch.manual_seed(0)
    rows = TensorDataset(torch.randn(600, 4), torch.randint(3, (600,)))
    loader = DataLoader(rows, batch_size=20, shuffle=True)
    model = nn.Sequential(nn.Linear(4, 8), nn.Softmax(dim={axis}), nn.Linear(8, 3))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for features, labels in loader:
        loss = nn.functional.cross_entropy(model(features), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
"""


@pytest.mark.slow
@pytest.mark.parametrize(("axis", "rules"), [(0, ["normalised-over-the-batch"]), (-1, [])])
def test_experiments_are_made_on_few_rows(folder: Path, axis: int, rules: list[str]) -> None:
    made = Checked(folder, written(folder, train=MIXES.format(axis=axis)).name)
    assert (made.code, made.rules) == (len(rules), rules)
