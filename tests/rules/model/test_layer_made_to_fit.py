"""Layers that are resized to whatever arrives; widths that are read from a table once are fine."""

from textwrap import dedent

import pytest

from surefit.doctor.findings import Finding, Place, Severity
from surefit.doctor.observations import OptimizerSeen, ParameterSeen, Process, Script, Steps
from surefit.doctor.recording import Recording
from surefit.rules.model.layer_made_to_fit import RULE
from surefit.rules.optimizer import parameters_outside_the_optimizer

IMPORTS = "import torch\nfrom torch import nn\n"
COMPARED = """
    projection = nn.Linear(31, 16)
    if batch.shape[-1] != projection.in_features:
        projection = nn.Linear(batch.shape[-1], 16)
    """


def read(text: str) -> list[Finding]:
    return list(RULE.look(Recording([Script("train.py", IMPORTS + dedent(text))])))


@pytest.mark.parametrize(
    "text",
    [
        COMPARED,
        """
        class Reader(nn.Module):
            def __init__(self, width):
                self.proj = nn.Linear(width, 16)
            def forward(self, x):
                features = x.size(-1)
                if self.proj.weight.shape[1] != features:
                    self.proj = nn.Linear(features, 16).to(x.device)
                return self.proj(x)
        """,
        """
        model.proj = nn.Linear(271, 16)
        if x.shape[2] == 271:
            pass
        else:
            model.proj = nn.Linear(x.shape[2], 16)
        """,
        """
        proj = nn.Linear(271, 16)
        def project(x):
            global proj
            try:
                return proj(x)
            except RuntimeError:
                proj = nn.Linear(x.shape[-1], 16)
                return proj(x)
        """,
        """
        proj = nn.Linear(271, 16)
        for x in loader:
            proj = nn.Linear(x.shape[-1], 16)
            proj(x).mean().backward()
        """,
    ],
)
def test_a_layer_that_is_made_to_fit(text: str) -> None:
    (finding,) = read(text)
    assert finding.severity is Severity.WARNING
    assert all(fix.choice for fix in finding.fixes)


@pytest.mark.parametrize(
    "text",
    [
        "model = nn.Linear(X.shape[1], 2)",
        "model.fc = nn.Linear(model.fc.in_features, 10)",
        "model.fc = nn.Linear(model.fc.weight.shape[1], 10)",
        """
        class Lazy(nn.Module):
            def __init__(self):
                self.fc = None
            def forward(self, x):
                if self.fc is None:
                    self.fc = nn.Linear(x.shape[-1], 2)
                return self.fc(x)
        """,
        """
        model = nn.Linear(10, 2)
        for X in tables:
            model = nn.Linear(X.shape[1], 2)
            optimizer = torch.optim.Adam(model.parameters())
            model(X).mean().backward()
        """,
        """
        def small(X):
            net = nn.Linear(10, 2)
        def fitted(X):
            if X.shape[1] != 10:
                net = nn.Linear(X.shape[1], 2)
        """,
        """
        net = nn.Linear(10, 2)
        if x.shape[-1] == net.in_features:
            net = nn.Linear(x.shape[-1], 20)
        """,
    ],
)
def test_silence(text: str) -> None:
    assert read(text) == []


def ran(width: int, outside: bool = True) -> Recording:
    place = Place("train.py", 6)
    weight = ParameterSeen("weight", (16, width), "float32", place, 9, looked=2)
    optimizer = OptimizerSeen("Adam", Place("train.py", 2), 5, 4, 8, 1e-3, 1e-3, 0, 8)
    steps = Steps(
        Process(1),
        8,
        1.0,
        8,
        {},
        ((0, 1.0),),
        backwards=8,
        optimizers=(optimizer,),
        outside=(weight,) if outside else (),
        parameters=() if outside else (weight,),
    )
    return Recording([Script("train.py", IMPORTS + dedent(COMPARED)), steps])


def test_a_run_in_which_the_line_made_the_layer() -> None:
    seen = ran(40)
    (finding,) = RULE.look(seen)
    assert finding.place.line == 6
    assert finding.headline == (
        "`projection` was declared for 31 features, and this line creates it again for the 40"
        " that arrived."
    )
    assert [one.name for one in finding.facts] == [
        "declared at",
        "created again",
        "in an optimizer",
    ]
    assert list(parameters_outside_the_optimizer.RULE.look(seen)) == []


def test_one_that_is_trained_is_told_without_the_optimizer() -> None:
    (finding,) = RULE.look(ran(40, outside=False))
    assert [one.name for one in finding.facts] == ["declared at", "created again"]


def test_a_layer_of_the_declared_width_is_none() -> None:
    assert list(RULE.look(ran(31))) == []
