"""Widths that do not fit, on hand-made recordings: evidence by arithmetic, and no choice made."""

from dataclasses import replace
from textwrap import dedent

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from failed_operations import span_of
from looking import look
from surefit.doctor.findings import Fact, Finding, Place
from surefit.doctor.observations import (
    Answer,
    Crash,
    Frame,
    Layer,
    Process,
    Script,
    Value,
)
from surefit.rules.model.feature_width_mismatch import RULE

TEXT = dedent(
    """\
    class Encoder(nn.Module):
        def __init__(self):
            self.proj = nn.Linear(271, 256)
        def forward(self, features):
            return self.proj(features)
    Encoder()(features)
    """
)
ENCODER = Layer("Encoder", "", "Encoder", own=True)


def linear(width: int, out: int = 256) -> Layer:
    sizes = {"in_features": width, "out_features": out}
    return Layer("Linear", "proj", "Encoder", Place("model.py", 3), sizes=sizes)


def crash(
    layer: Layer, shape: tuple[int, ...], said: str = "RuntimeError: shapes", identity: int = 7
) -> Crash:
    features = Value("features", "Tensor", 7, shape=shape, dtype="float32")
    frames = (
        Frame(
            Place("model.py", 6),
            "<module>",
            own=True,
            line="Encoder()(features)",
            expression="Encoder()(features)",
            values=(features,),
        ),
        Frame(
            Place("model.py", 5),
            "Encoder.forward",
            own=True,
            line="return self.proj(features)",
            expression="self.proj(features)",
            span=span_of(TEXT, 5, "self.proj(features)"),
            values=(features,),
            layer=ENCODER,
            arguments=("self", "features"),
        ),
        Frame(
            Place("torch/nn/modules/linear.py", 134),
            "Linear.forward",
            own=False,
            expression="F.linear(input, self.weight, self.bias)",
            values=(replace(features, text="input", identity=identity),),
            layer=layer,
            arguments=("self", "input"),
        ),
    )
    return Crash("1-1", 1.0, Process(1), "RuntimeError", said, frames, layer=layer)


def found(one: Crash, *answers: Answer) -> list[Finding]:
    return look(RULE, [Script("model.py", TEXT), one, *answers])


def names(facts: tuple[Fact, ...]) -> list[str]:
    return [fact.name for fact in facts]


@pytest.mark.parametrize(
    ("shape", "fact", "fix"),
    [
        ((4, 271, 20), "axis 1 of (4, 271, 20) is 271", "`features.transpose(1, 2)`"),
        ((4, 5420), "5420 = 20 × 271", "`features.unflatten(-1, (20, 271))`"),
        ((4, 1, 16, 16), "16 × 16 = 256", "`features.flatten(-2)`"),
    ],
)
def test_ways_that_the_numbers_allow(shape: tuple[int, ...], fact: str, fix: str) -> None:
    width = 256 if len(shape) == 4 else 271
    (finding,) = found(crash(linear(width), shape))
    assert fact in [one.value for one in finding.facts]
    assert any(fix in offered.text for offered in finding.fixes)
    assert all(offered.choice for offered in finding.fixes)


def test_what_follows_from_a_multiple_comes_after_the_declared_width() -> None:
    (finding,) = found(crash(linear(271), (4, 5420)))
    declared, joined = finding.fixes
    assert "declare it at model.py:3" in declared.text
    assert "unflatten" in joined.text
    (finding,) = found(crash(linear(271), (4, 271, 20)))
    assert "transpose" in finding.fixes[0].text


@pytest.mark.parametrize(
    ("kind", "sizes", "shape", "headline"),
    [
        ("Conv2d", {"in_channels": 5}, (8, 32, 32, 5), "takes 5 channels and was given 32."),
        ("Conv1d", {"in_channels": 4}, (5, 100), "takes 4 channels and was given 5."),
        ("LSTM", {"input_size": 40}, (8, 9, 41), "takes 40 features per item and was given 41."),
        ("BatchNorm1d", {"num_features": 6}, (8, 7), "takes 6 channels and was given 7."),
    ],
)
def test_other_layers(
    kind: str, sizes: dict[str, int], shape: tuple[int, ...], headline: str
) -> None:
    layer = Layer(kind, "proj", "Encoder", Place("model.py", 3), sizes=sizes)
    (finding,) = found(crash(layer, shape))
    assert finding.headline == f"`proj` {headline}"


def test_silence_where_the_width_fits() -> None:
    assert found(crash(linear(271), (4, 271))) == []
    assert found(crash(Layer("Dropout", "proj"), (4, 3))) == []
    assert found(replace(crash(linear(271), (4, 3)), swallowed=True)) == []


shapes = st.lists(st.integers(1, 30), min_size=2, max_size=4)


@given(shapes, st.data())
def test_nothing_that_was_done_to_the_axes_is_ruled_out(
    shape: list[int], data: st.DataObject
) -> None:
    *before, items, width = shape
    way = data.draw(st.sampled_from(["swapped axes", "joined rows"]))
    given_shape = (*before, width, items) if way == "swapped axes" else (*before, items * width)
    assume(given_shape[-1] != width)
    (finding,) = found(crash(linear(width), given_shape))
    assert way not in names(tuple(finding.ruled_out))
    assert "wrong reshape" not in names(tuple(finding.ruled_out))
