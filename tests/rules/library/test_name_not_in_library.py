"""Names that a library does not have, on hand-made recordings."""

from typing import Any

from surefit.doctor.conditions.names import NamesExist
from surefit.doctor.findings import Finding, Place
from surefit.doctor.observations import Answer, Crash, Frame, Process, Script, Value
from surefit.doctor.recording import Recording
from surefit.rules.library.name_not_in_library import RULE
from surefit.source.edits import patched
from surefit.source.spans import Span


def found(
    text: str, kind: str, said: dict[str, Any], span: Span | None = None, *values: Value
) -> list[Finding]:
    line = span.line if span else 1
    own = Frame(Place("train.py", line), "<module>", own=True, span=span, values=values)
    crash = Crash("1-1", 1.0, Process(1), kind, f"{kind}: no", (own,))
    seen = Recording([Script("train.py", text), crash])
    list(RULE.look(seen))
    whole = {"owner": "m", "package": "p", "version": "5.0", "near": {}, "exist": [], **said}
    whole["near"] = {name: whole["near"].get(name, []) for name in whole["missing"]}
    seen.observations += [Answer(one, whole) for one in seen.open_questions]
    return list(RULE.look(seen))


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
