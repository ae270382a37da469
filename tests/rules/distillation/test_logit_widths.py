"""Logits of two widths in a loss that compares them, on hand-made recordings."""

import pytest

from recorded_losses import LossCrash, tensor
from surefit.doctor.findings import Place
from surefit.doctor.observations import Layer, Value
from surefit.rules.distillation.logit_widths import RULE

LOOP = """
    for text in texts():
        wanted = teacher(text)
        given = student(text)
        loss = criterion(log_softmax(given, -1), softmax(wanted, -1))
    """


def model(name: str, number: int) -> Value:
    return Value(name, "GPT", number, layer=Layer("GPT", "", "GPT", Place("train.py", 1)))


def crash(
    given: tuple[int, ...], target: tuple[int, ...], function: str = "kl_div", same: bool = False
) -> LossCrash:
    """Both sides come from a model; `same`: from the same one."""
    call = "student(text)" if same else "teacher(text)"
    return (
        LossCrash(
            LOOP,
            tensor("a", given),
            tensor("b", target),
            function=function,
            values=(
                tensor("given", given),
                tensor("wanted", target),
                model("student", 5),
                model("teacher", 6),
            ),
        )
        .holds({0.25: 4})
        .through(
            ("log_softmax(given, -1)", tensor("", given, least=-4.0, greatest=-0.1)),
            ("student(text)", tensor("", given, least=-1.0, greatest=2.0)),
            of="input",
        )
        .through(
            ("softmax(wanted, -1)", tensor("", target, least=0.0, greatest=0.5)),
            (call, tensor("", target, least=-1.0, greatest=2.0)),
        )
    )


@pytest.mark.parametrize("function", ["kl_div", "mse_loss"])
def test_the_wider_logits_are_cut_where_they_are_computed(function: str) -> None:
    recorded = crash((4, 7, 60), (4, 7, 64), function)
    (finding,) = recorded.found(RULE)
    assert "`given` is 60 wide and `wanted` is 64" in finding.headline
    assert finding.place == Place("train.py", 2, 2)
    assert "by `teacher`, GPT" in finding.facts[1].value
    assert "wanted = teacher(text)[..., :60]" in recorded.mended(finding)
    assert [fix.edit is not None for fix in finding.fixes][:2] == [True, False]
    assert all(fix.choice for fix in finding.fixes)
    assert len(finding.fixes) == (2 if function == "kl_div" else 3)


def test_probabilities_are_never_cut() -> None:
    """What is left of them would sum to less than one."""
    (finding,) = crash((4, 7, 60), (4, 7, 64)).found(RULE)
    assert not any("softmax(wanted, -1)[" in fix.text for fix in finding.fixes)


def test_the_student_is_cut_where_it_is_the_wider() -> None:
    recorded = crash((4, 7, 64), (4, 7, 60))
    (finding,) = recorded.found(RULE)
    assert "given = student(text)[..., :60]" in recorded.mended(finding)


@pytest.mark.parametrize(
    "recorded",
    [
        crash((4, 7, 60), (4, 6, 64)),
        crash((4, 7, 60), (4, 7, 60)),
        crash((4, 1), (4, 2), "mse_loss"),
        crash((4, 7, 60), (4, 7, 64), "mse_loss", same=True),
    ],
    ids=["other rows", "equal", "no vocabulary", "one model"],
)
def test_silence(recorded: LossCrash) -> None:
    assert recorded.found(RULE) == []
