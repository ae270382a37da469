"""What a model returns in place of a tensor, on hand-made recordings."""

import pytest

from recorded_losses import LossCrash, tensor
from surefit.doctor.observations import Value
from surefit.rules.loss.model_output_as_logits import RULE

LOOP = """
    for x, y in batches():
        loss = criterion(model(x), y)
    """


def crash(kind: str, **members: Value) -> LossCrash:
    given = Value("out", kind, 3, members={key.strip("_"): one for key, one in members.items()})
    return LossCrash(LOOP, given, tensor("y", (8,), "int64"))


def test_logits_of_an_output() -> None:
    one = crash("SequenceClassifierOutput", logits=tensor("logits", (8, 3)))
    (finding,) = one.found(RULE)
    assert finding.headline == (
        "`out` is a SequenceClassifierOutput, not a tensor; `criterion` takes its `.logits`,"
        " (8, 3)."
    )
    assert "criterion(model(x).logits, y)" in one.mended(finding)


def test_the_one_of_a_tuple_that_fits() -> None:
    one = crash("tuple", _0=tensor("0", (8, 5, 16)), _1=tensor("1", (8, 3)))
    (finding,) = one.found(RULE)
    assert "criterion(model(x)[1], y)" in one.mended(finding)


def test_two_that_fit_are_the_users_choice() -> None:
    one = crash("tuple", _0=tensor("0", (8, 3)), _1=tensor("1", (8, 3)))
    (finding,) = one.found(RULE)
    assert [fix.edit for fix in finding.fixes] == [None]


@pytest.mark.parametrize(
    "one",
    [crash("NoneType"), LossCrash(LOOP, tensor("out", (8, 3)), tensor("y", (8,), "int64"))],
    ids=["nothing inside", "a tensor"],
)
def test_silence(one: LossCrash) -> None:
    assert one.found(RULE) == []
