"""Widths that do not fit, on hand-made recordings: evidence by arithmetic, and no choice made."""

from dataclasses import replace
from textwrap import dedent

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from surefit.doctor.findings import Fact, Finding, Place
from surefit.doctor.observations import (
    Answer,
    Crash,
    Frame,
    Layer,
    Operation,
    Process,
    Question,
    Script,
    Value,
)
from surefit.doctor.recording import Recording
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
    return list(RULE.look(Recording([Script("model.py", TEXT), one, *answers])))


def names(facts: tuple[Fact, ...]) -> list[str]:
    return [fact.name for fact in facts]


def test_the_numbers_of_other_data() -> None:
    said = "RuntimeError: mat1 and mat2 shapes cannot be multiplied (255744x4000 and 271x256)"
    one = crash(linear(271), (256, 999, 4000), said)
    disk = Question("arrays-on-disk", "1-1", {"width": 4000})
    files = Answer(disk, {"files": [{"file": "data/part-0.npy", "shape": [256, 999, 4000]}]})
    (finding,) = found(one, files)
    assert finding.place == Place("model.py", 5)
    assert finding.headline == "`proj` takes 271 features per item and was given 4000."
    assert [(fact.name, fact.value) for fact in finding.facts] == [
        ("`proj`", "Linear(271 → 256), made at model.py:3"),
        (
            "its input",
            "(256, 999, 4000); PyTorch prints it as 255744x4000, for 256 × 999 = 255744",
        ),
    ]
    assert [(fact.name, fact.value) for fact in finding.ruled_out] == [
        ("swapped axes", "no axis of (256, 999, 4000) is 271"),
        ("wrong reshape", "256 × 999 × 4000 = 1,022,976,000: no multiple of 271"),
    ]
    assert [fix.text for fix in finding.fixes] == [
        "If 271 is right, these are other data: check where `features` is read (data/part-0.npy"
        " says 999 × 4000).",
        "If 4000 is right, declare it: `nn.Linear(4000, 256)` at model.py:3, before the optimizer.",
    ]


def on_disk(width: int, *files: tuple[str, list[int]]) -> Answer:
    said = {"files": [{"file": name, "shape": shape} for name, shape in files]}
    return Answer(Question("arrays-on-disk", "1-1", {"width": width}), said)


def test_shards_of_one_shape_are_counted() -> None:
    one = crash(linear(271), (256, 999, 4000))
    shards = [(f"data/part-{at}.npy", [256, 999, 4000]) for at in range(3)]
    (finding,) = found(one, on_disk(4000, *shards, ("other.npy", [9, 4000])))
    assert "(data/part-0.npy and 2 more say 999 × 4000)" in finding.fixes[0].text


def test_files_of_two_shapes_say_nothing() -> None:
    one = crash(linear(271), (256, 999, 4000))
    (finding,) = found(one, on_disk(4000, ("a.npy", [9, 7, 4000]), ("b.npy", [9, 8, 4000])))
    assert finding.fixes[0].text.endswith("check where `features` is read.")


def test_the_header_stands_beside_swapped_axes() -> None:
    (finding,) = found(crash(linear(271), (4, 271, 20)), on_disk(20, ("rows.pt", [64, 271, 20])))
    assert Fact("on disk", "rows.pt says 271 × 20 in a row") in finding.facts


def test_no_fix_is_ever_tried_because_only_the_user_can_choose() -> None:
    for shape in ((256, 999, 4000), (4, 271, 20), (4, 542), (4, 1, 271)):
        for finding in found(crash(linear(271), shape)):
            assert finding.fixes
            assert all(fix.edit is None and fix.why_not_tried for fix in finding.fixes)


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
    assert fix in finding.fixes[0].text


def test_a_flattened_map_tells_which_one_was_expected() -> None:
    one = crash(linear(400, 120), (8, 2704), identity=9)
    question = Question("story", "1-1", {"frame": 2, "text": "input"})
    place = Place("model.py", 5)
    operations = [
        Operation(2, "flatten", place, place, True, (8, 2704), "float32", True, takes=(1,)),
        Operation(1, "max_pool2d", place, place, True, (8, 16, 13, 13), "float32", True),
    ]
    told = Answer(question, {"operations": [as_json(one) for one in operations]})
    (finding,) = found(one, told)
    assert finding.place == Place("model.py", 3)
    assert finding.why == "2704 = 16 × 13 × 13, a flattened map; 400 would be 16 × 5 × 5."
    assert "`nn.AdaptiveAvgPool2d(5)`" in finding.fixes[0].text


def as_json(operation: Operation) -> dict[str, object]:
    from dataclasses import asdict

    return asdict(operation)


def test_the_story_of_an_input_from_inside_is_asked_for() -> None:
    seen = Recording([Script("model.py", TEXT), crash(linear(400), (8, 20), identity=9)])
    list(RULE.look(seen))
    assert [(one.kind, one.about) for one in seen.open_questions] == [
        ("story", {"frame": 2, "text": "input"})
    ]


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


@pytest.mark.parametrize(("between", "said"), [("dropout", True), ("linear", False)])
def test_a_layer_in_two_directions_is_seen_through_what_keeps_the_width(
    between: str, said: bool
) -> None:
    one = crash(linear(20), (8, 13, 40), identity=9)
    place = Place("model.py", 4)
    operations = [
        Operation(2, between, place, place, False, (8, 13, 40), "float32", True, takes=(1,)),
        Operation(1, "gru", place, place, False, (8, 13, 40), "float32", True),
    ]
    story = Question("story", "1-1", {"frame": 2, "text": "input"})
    told = Answer(story, {"operations": [as_json(operation) for operation in operations]})
    (finding,) = found(one, told)
    assert ("reads both ways and gives 20" in (finding.why or "")) is said
    assert any("unflatten" in fix.text for fix in finding.fixes) is not said
