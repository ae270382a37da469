"""Names that a library does not have, on hand-made recordings."""

from typing import Any

import pytest

from surefit.doctor.conditions.condition import All
from surefit.doctor.conditions.grown import RowsAdded
from surefit.doctor.conditions.names import NamesExist
from surefit.doctor.conditions.optimizers import OptimizerSteps
from surefit.doctor.findings import Finding, Place
from surefit.doctor.observations import Answer, Crash, Frame, Process, Script, Value
from surefit.doctor.recording import Recording
from surefit.laws.crashes import violations_in
from surefit.rules.library.name_not_in_library import RULE
from surefit.source.edits import patched
from surefit.source.spans import Span


def look(seen: Recording) -> list[Finding]:
    broken: list[str] = []
    findings = list(RULE.look(seen, violations_in(seen, broken)))
    assert broken == []
    return findings


def found(
    text: str, kind: str, said: dict[str, Any], span: Span | None = None, *values: Value
) -> list[Finding]:
    line = span.line if span else 1
    own = Frame(Place("train.py", line), "<module>", own=True, span=span, values=values)
    crash = Crash("1-1", 1.0, Process(1), kind, f"{kind}: no", (own,))
    seen = Recording([Script("train.py", text), crash])
    look(seen)
    whole = {"owner": "m", "package": "p", "version": "5.0", "near": {}, "exist": [], **said}
    whole["near"] = {name: whole["near"].get(name, []) for name in whole["missing"]}
    seen.observations += [
        Answer(one, whole if one.kind == "names" else None) for one in seen.open_questions
    ]
    return look(seen)


def after(finding: Finding, text: str) -> str:
    edit = finding.fixes[0].edit
    assert edit is not None
    return patched(edit, text)


def test_an_import_is_made_from_where_the_name_is_now() -> None:
    text = "from transformers import AdamW, Trainer\nAdamW(p, lr=1, correct_bias=False)\n"
    known = {"missing": ["AdamW"], "exist": ["torch.optim.AdamW"]}
    (finding,) = found(text, "ImportError", known)
    assert "`torch.optim.AdamW` stands in its place" in finding.headline
    assert after(finding, text) == (
        "from torch.optim import AdamW\nfrom transformers import Trainer\nAdamW(p, lr=1)\n"
    )
    must = finding.fixes[0].must
    assert isinstance(must, NamesExist)
    assert must.names == ("torch.optim.AdamW",)


def test_every_place_of_the_file_is_changed() -> None:
    text = "import numpy as np\na = np.float(1)\nb = np.Inf\nc = np.sum(b)\n"
    known = {"missing": ["float", "Inf"], "exist": ["float", "numpy.inf"]}
    (finding,) = found(text, "AttributeError", known, Span(2, 4, 2, 12))
    assert finding.place == Place("train.py", 2)
    assert after(finding, text) == "import numpy as np\na = float(1)\nb = np.inf\nc = np.sum(b)\n"


def test_a_name_in_other_letters() -> None:
    text = "from torch import nn\nloss = nn.CrossEntropyloss\n"
    known = {"missing": ["CrossEntropyloss"], "near": {"CrossEntropyloss": ["CrossEntropyLoss"]}}
    (finding,) = found(text, "AttributeError", known, Span(2, 7, 2, 26))
    assert "loss = nn.CrossEntropyLoss\n" in after(finding, text)


def test_without_a_successor_nothing_is_tried() -> None:
    text = "from library import Gone\n"
    (finding,) = found(text, "ImportError", {"missing": ["Gone"]})
    assert finding.fixes[0].edit is None


def test_attributes_of_values_say_nothing_of_versions() -> None:
    text = "x = y.shape\n"
    span = Span(1, 4, 1, 11)
    assert found(text, "AttributeError", {"missing": ["shape"]}, span, Value("y", "list")) == []
    text = "x = y.iteritems()\n"
    known = {"missing": ["iteritems"], "exist": [".items"]}
    span = Span(1, 4, 1, 15)
    (finding,) = found(text, "AttributeError", known, span, Value("y", "DataFrame"))
    assert after(finding, text) == "x = y.items()\n"
    assert found(text, "AttributeError", known, span, Value("y", "dict")) == []


def test_names_that_are_there_are_passed_over() -> None:
    assert found("from library import name\n", "ImportError", {"missing": []}) == []
    assert found("from . import name\n", "ImportError", {"missing": ["name"]}) == []


def appended(argument: str, *values: Value, before: str = "t = ") -> Finding:
    text = f"import pandas as pd\n{before}table.append({argument}, ignore_index=True)\n"
    start = len(before)
    table = Value("table", "DataFrame", 1, length=7)
    (finding,) = found(
        text,
        "AttributeError",
        {"missing": ["append"]},
        Span(2, start, 2, start + len("table.append")),
        table,
        *values,
    )
    return finding


@pytest.mark.parametrize(
    ("argument", "kind", "becomes", "rows"),
    [
        ('{"a": 1}', "", 'pd.DataFrame([{"a": 1}])', 1),
        ("row", "dict", "pd.DataFrame([row])", 1),
        ("row", "Series", "row.to_frame().T.infer_objects()", 1),
        ("row", "DataFrame", "row", 3),
    ],
)
def test_what_is_appended_is_joined_as_a_table(
    argument: str, kind: str, becomes: str, rows: int
) -> None:
    value = Value("row", kind, 2, length=3)
    finding = appended(argument, value)
    (fix,) = finding.fixes
    assert fix.edit is not None
    assert fix.edit.changes[0].text == f"pd.concat([table, {becomes}], ignore_index=True)"
    assert fix.must == RowsAdded(Place("train.py", 2), "t", 7, rows)


def test_what_is_appended_is_not_guessed() -> None:
    assert appended("row").fixes[0].edit is None
    assert appended('{"a": 1}', before="").fixes[0].edit is None


def test_an_optimizer_must_hold_parameters_and_what_it_no_longer_takes_is_said() -> None:
    text = "from transformers import AdamW\no = AdamW(p, correct_bias=False)\no.step()\n"
    known = {"missing": ["AdamW"], "exist": ["torch.optim.AdamW"]}
    (finding,) = found(text, "ImportError", known)
    (fix,) = finding.fixes
    assert isinstance(fix.must, All)
    assert fix.must.conditions[1] == OptimizerSteps("AdamW")
    assert "takes no `correct_bias`" in fix.text


def test_a_successor_in_a_package_that_is_not_there() -> None:
    text = "from datasets import load_metric\n"
    (finding,) = found(text, "ImportError", {"missing": ["load_metric"]})
    (fix,) = finding.fixes
    assert "`pip install evaluate`" in fix.text
    assert fix.why_not_tried == "`evaluate` is not installed here"


def test_a_function_that_only_raises_is_called_by_its_new_name() -> None:
    text = "import torch\nw, _ = torch.solve(x.t() @ y, gram)\n"
    own = Frame(Place("train.py", 2), "<module>", own=True, span=Span(2, 7, 2, 35))
    gone = Frame(Place("torch/_linalg_utils.py", 83), "solve", own=False, line="raise No(")
    crash = Crash("1-1", 1.0, Process(1), "RuntimeError", "RuntimeError: no", (own, gone))
    seen = Recording([Script("train.py", text), crash])
    assert look(seen) == []
    said = {"missing": [], "near": {}, "version": "9", "exist": ["torch.linalg.solve"]}
    seen.observations += [
        Answer(one, said if one.kind == "names" else None) for one in seen.open_questions
    ]
    (finding,) = look(seen)
    assert finding.place == Place("train.py", 2)
    assert after(finding, text) == "import torch\nw = torch.linalg.solve(gram, x.t() @ y)\n"
    must = finding.fixes[0].must
    assert isinstance(must, NamesExist)
    assert must.texts == ("w",)
