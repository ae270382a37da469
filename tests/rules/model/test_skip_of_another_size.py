"""Sides of maps that differ by rounding, by missing padding, and for other reasons."""

from textwrap import dedent

from failed_operations import crash, operation, span_of, story, weight
from surefit.doctor.findings import Finding, Place
from surefit.doctor.observations import Answer, Frame, Layer, Script, Value
from surefit.doctor.recording import Recording
from surefit.rules.model.skip_of_another_size import RULE

TEXT = dedent(
    """\
    SIZE = (22, 26)
    class Net(nn.Module):
        def __init__(self):
            self.up = nn.ConvTranspose2d(8, 8, 3, stride=2, padding=1)
        def forward(self, x):
            low = self.up(self.down(x))
            return self.mix(torch.cat([skip, low], dim=1))
    """
)
UP = Layer("ConvTranspose2d", "up", "Net", Place("train.py", 4))


def frame(skip: tuple[int, ...], low: tuple[int, ...]) -> Frame:
    part = "torch.cat([skip, low], dim=1)"
    return Frame(
        Place("train.py", 7),
        "Net.forward",
        own=True,
        line=f"return self.mix({part})",
        expression=part,
        span=span_of(TEXT, 7, part),
        values=(Value("skip", "Tensor", 1, shape=skip), Value("low", "Tensor", 2, shape=low)),
        arguments=("self", "x"),
    )


def found(at: Frame, *answers: Answer) -> list[Finding]:
    return list(RULE.look(Recording([Script("train.py", TEXT), crash(at), *answers])))


def halved(*, names: tuple[str, str] = ("max_pool2d", "interpolate")) -> Answer:
    pool, grow = names
    return story(
        operation(9, "cat", (), (3, 6), line=7, numbers=(1.0,)),
        operation(6, grow, (2, 8, 10, 12), (5,), line=6),
        operation(5, pool, (2, 8, 5, 6), (3,), line=6),
        operation(3, pool, (2, 8, 11, 13), (1,), line=6),
        operation(1, "rand", (2, 8, 22, 26), line=1),
    )


def test_a_size_that_poolings_round_is_named_where_it_is_written() -> None:
    (finding,) = found(frame((2, 8, 11, 13), (2, 8, 10, 12)), halved())
    assert finding.place == Place("train.py", 1)
    assert finding.headline == (
        "Each side of 22 × 26 must be a multiple of 4: `max_pool2d` rounds 11 × 13 to 5 × 6, so"
        " that the skip connection at train.py:7 is of another size than what it meets."
    )
    size, resize = finding.fixes
    assert "20 × 24 or 24 × 28" in size.text
    assert size.edit is None
    assert resize.edit is not None
    assert resize.why_not_tried


def test_layers_that_change_the_last_axis_round_nothing() -> None:
    assert found(frame((2, 8, 11, 13), (2, 8, 10, 12)), halved(names=("linear", "linear"))) == []


def test_a_transposed_convolution_that_gives_one_less() -> None:
    told = story(
        operation(9, "cat", (), (3, 6), line=7, numbers=(1.0,)),
        operation(6, "conv_transpose2d", (2, 8, 15, 15), (5, 4), line=6),
        operation(5, "conv2d", (2, 8, 8, 8), (3,), line=6),
        weight(4, UP, (8, 8, 3, 3)),
        operation(3, "relu", (2, 8, 16, 16), (1,), line=6),
        operation(1, "rand", (2, 8, 16, 16), line=1),
    )
    (finding,) = found(frame((2, 8, 16, 16), (2, 8, 15, 15)), told)
    assert finding.place == Place("train.py", 4)
    assert "`output_padding=1` is missing" in finding.headline
    assert finding.fixes[0].edit is not None


def test_a_convolution_without_padding() -> None:
    told = story(
        operation(9, "cat", (), (3, 6), line=7, numbers=(1.0,)),
        operation(6, "conv2d", (2, 8, 14, 14), (3,), line=6),
        operation(3, "relu", (2, 8, 16, 16), (1,), line=6),
        operation(1, "rand", (2, 8, 16, 16), line=1),
    )
    (finding,) = found(frame((2, 8, 16, 16), (2, 8, 14, 14)), told)
    assert "without padding" in finding.headline
    assert all(fix.edit is None for fix in finding.fixes)


def test_other_numbers_of_rows_are_another_fault() -> None:
    told = story(
        operation(9, "cat", (), (3, 6), line=7, numbers=(1.0,)),
        operation(6, "max_pool2d", (3, 8, 11, 13), (1,), line=6),
        operation(3, "max_pool2d", (2, 8, 11, 13), (1,), line=6),
        operation(1, "rand", (2, 8, 23, 27), line=1),
    )
    assert found(frame((2, 8, 11, 13), (3, 8, 11, 13)), told) == []
