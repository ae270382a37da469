"""Which of two widths is wrong, where that can be known, and silence where it cannot."""

from textwrap import dedent

from failed_operations import crash, operation, span_of, story, weight
from surefit.doctor.findings import Finding, Place
from surefit.doctor.observations import Answer, Frame, Layer, Script, Value
from surefit.doctor.recording import Recording
from surefit.rules.model.joined_widths_differ import RULE

TEXT = dedent(
    """\
    class Net(nn.Module):
        def __init__(self):
            self.words = nn.Embedding(100, 64)
            self.sounds = nn.Linear(20, 48)
            self.sights = nn.Linear(30, 64)
            self.model = GPT2Model(config)
        def forward(self, a, b):
            both = torch.cat([a, b], dim=1)
    """
)


def linear(path: str, line: int, into: int, out: int) -> Layer:
    sizes = {"in_features": into, "out_features": out}
    return Layer("Linear", path, "Net", Place("train.py", line), sizes=sizes)


SOUNDS, SIGHTS = linear("sounds", 4, 20, 48), linear("sights", 5, 30, 64)
WORDS = Layer("Embedding", "words", "Net", Place("train.py", 3), sizes={"embedding_dim": 64})
LIBRARY = Layer("Linear", "model.h.0.mlp", "Net", Place("train.py", 6))


def found(told: Answer, expression: str = "torch.cat([a, b], dim=1)") -> list[Finding]:
    a = Value("a", "Tensor", 1, shape=(4, 7, 48))
    b = Value("b", "Tensor", 2, shape=(4, 9, 64))
    frame = Frame(
        Place("train.py", 8),
        "Net.forward",
        own=True,
        line=f"both = {expression}",
        expression=expression,
        span=span_of(TEXT, 8, "torch.cat([a, b], dim=1)"),
        values=(a, b),
        layer=Layer("Net", "", "Net", own=True),
        arguments=("self", "a", "b"),
    )
    return list(RULE.look(Recording([Script("train.py", TEXT), crash(frame), told])))


def two(
    first: Layer,
    second: Layer,
    how: tuple[str, str] = ("linear", "linear"),
    layers: tuple[Layer, ...] = (),
) -> Answer:
    return story(
        operation(9, "cat", (), (7, 8), line=8, numbers=(1.0,)),
        operation(8, how[1], (4, 9, 64), (2, 4), line=8),
        operation(7, how[0], (4, 7, 48), (1, 3), line=8),
        weight(4, second, (64, 30)),
        weight(3, first, (48, 20)),
        operation(2, "randn", (4, 9, 30)),
        operation(1, "randn", (4, 7, 20)),
        layers=layers,
    )


def test_a_projection_beside_a_table_is_to_blame() -> None:
    (finding,) = found(two(SOUNDS, WORDS, ("linear", "embedding")))
    assert finding.place == Place("train.py", 4)
    assert finding.headline == (
        "`sounds` gives 48 features, and `b` that it is joined with has 64."
    )
    (fix,) = finding.fixes
    assert fix.text == "Make `sounds` give 64: `nn.Linear(20, 64)`."
    assert fix.edit is not None
    assert fix.why_not_tried


def test_a_layer_of_ones_own_beside_a_librarys_is_to_blame() -> None:
    (finding,) = found(two(SOUNDS, LIBRARY))
    assert finding.place == Place("train.py", 4)
    assert "library's model" in finding.why


def test_a_layer_still_to_come_says_which_width_is_meant() -> None:
    head = linear("head", 6, 64, 2)
    (finding,) = found(two(SOUNDS, SIGHTS, layers=(head, SOUNDS, SIGHTS)))
    assert finding.place == Place("train.py", 4)
    assert finding.why == "`head`, Linear(64 → 2), takes 64 after it."


def test_where_nothing_decides_nothing_is_claimed() -> None:
    assert found(two(SOUNDS, SIGHTS)) == []
    both = (linear("head", 6, 64, 2), linear("other", 6, 48, 2))
    assert found(two(SOUNDS, SIGHTS, layers=both)) == []


def test_what_a_block_adds_to_its_own_input() -> None:
    told = story(
        operation(9, "add", (), (1, 7), line=8),
        operation(7, "linear", (4, 7, 48), (1, 3), line=8),
        weight(3, SOUNDS, (48, 20)),
        operation(1, "randn", (4, 7, 20)),
    )
    (finding,) = found(told, "a + b")
    assert finding.headline == (
        "`Net` adds its input to what it made of it, and changes the shape on the way: (4, 7, 20)"
        " to (4, 7, 48)."
    )
    assert all(fix.edit is None for fix in finding.fixes)


def test_rows_that_differ_are_another_fault() -> None:
    told = story(
        operation(9, "cat", (), (7, 8), line=8, numbers=(1.0,)),
        operation(8, "linear", (5, 7, 48), (2, 3), line=8),
        operation(7, "linear", (4, 7, 48), (1, 3), line=8),
        weight(3, SOUNDS, (48, 20)),
        operation(2, "randn", (5, 7, 20)),
        operation(1, "randn", (4, 7, 20)),
    )
    assert found(told) == []
