"""Numbers that are text, in arguments expanded from a mapping, on hand-made recordings."""

import pytest

from recorded_crashes import look, mended
from surefit.doctor.findings import Finding, Place
from surefit.doctor.observations import Crash, Frame, Process, Value
from surefit.rules.run.number_is_text import RULE, as_number
from surefit.source.spans import Span

TEXT = '''\
CONFIG = """
optim:
  lr: 5e-3
"""
options = yaml.safe_load(CONFIG)["optim"]
optimizer = AdamW(parameters, **options)
'''
CALL = "AdamW(parameters, **options)"


def found(text: str) -> list[Finding]:
    rate = Value("lr", "str", scalar="5e-3")
    options = Value("options", "dict", members={"lr": rate})
    line = text.count("\n")
    loop = Frame(
        Place("train.py", line),
        "<module>",
        own=True,
        line=f"optimizer = {CALL}",
        expression=CALL,
        span=Span(line, 12, line, 12 + len(CALL)),
        values=(options,),
    )
    inside = Frame(
        Place("torch/optim/adam.py", 58),
        "Adam.__init__",
        own=False,
        line="if not 0.0 <= lr:",
        expression="0.0 <= lr",
        values=(rate,),
    )
    frames = (loop, inside)
    return look(RULE, text, Crash("1-1", 1.0, Process(1), "TypeError", "TypeError: '<='", frames))


def test_in_a_text_of_the_script() -> None:
    [finding] = found(TEXT)
    assert finding.place.line == 3
    assert "\n  lr: 5.0e-3\n" in mended(finding, TEXT)
    assert '**{**options, "lr": float(options["lr"])})' in mended(finding, TEXT, 1)


def test_read_from_a_file() -> None:
    text = f'options = yaml.safe_load(open("c.yaml"))\noptimizer = {CALL}\n'
    [finding] = found(text)
    assert finding.place.line == 2
    assert '**{**options, "lr": float(options["lr"])})' in mended(finding, text)


def test_in_a_display() -> None:
    text = f'options = {{"lr": "5e-3"}}\noptimizer = {CALL}\n'
    [finding] = found(text)
    assert finding.place.line == 1
    assert '{"lr": 5.0e-3}' in mended(finding, text)


@pytest.mark.parametrize(
    ("written", "number"),
    [("5e-3", "5.0e-3"), ("1E5", "1.0e+5"), ("2.5e3", "2.5e+3"), ("32", "32")],
)
def test_as_yaml_reads_it(written: str, number: str) -> None:
    assert as_number(written) == number
