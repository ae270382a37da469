"""Settings from names, and back; every refusal with its message."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
from cyclopts import Parameter
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from surefit.errors import WrongCall
from surefit.recipes.sft_settings import LoraSft
from surefit.settings import as_dict, at_least, between, check, from_names


@dataclass(frozen=True, kw_only=True)
class Small:
    """One field of each kind."""

    name: str
    out: Annotated[Path | None, Parameter(alias="--output-dir")] = None
    steps: Annotated[int, Parameter(alias=("--max-steps", "--n"))] = 3
    rate: float | None = None
    share: float = 0.5
    fast: bool = False
    kind: Literal["one", "two"] = "one"
    targets: tuple[str, ...] = ("all",)

    def __post_init__(self) -> None:
        check(
            self,
            steps=at_least(1),
            rate=at_least(0.0, itself=False),
            share=between(0.0, 1.0),
        )


def refused(**values: object) -> list[str]:
    with pytest.raises(WrongCall) as caught:
        from_names(Small, values)
    assert caught.value.exit_code == 2
    return [f"{found.rule}: {found.headline}" for found in caught.value.findings]


def test_names_aliases_hyphens_and_underscores_are_alike() -> None:
    made = from_names(
        Small, {"name": "x", "output-dir": "runs/1", "--max-steps": 5, "rate": 1, "targets": ["q"]}
    )
    assert made == Small(name="x", out=Path("runs/1"), steps=5, rate=1.0, targets=("q",))
    assert isinstance(made.rate, float)


def test_values_given_in_python_are_put_into_their_types() -> None:
    loose: dict[str, Any] = {"name": "x", "out": "runs", "share": 1, "targets": "q_proj"}
    made = Small(**loose)
    assert made.out == Path("runs")
    assert isinstance(made.share, float)
    assert made.targets == ("q_proj",)
    with pytest.raises(WrongCall, match="`kind` takes one of `one`, `two`"):
        Small(name="x", kind="three")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"stepz": 1}, "unknown-setting: `stepz` is not a setting of `Small`."),
        (
            {"steps": True},
            "setting-of-wrong-type: `steps` takes a whole number, and was given `true`.",
        ),
        (
            {"steps": "4"},
            "setting-of-wrong-type: `steps` takes a whole number, and was given the text `4`.",
        ),
        (
            {"steps": 1.5},
            "setting-of-wrong-type: `steps` takes a whole number, and was given the number `1.5`.",
        ),
        (
            {"share": True},
            "setting-of-wrong-type: `share` takes a number, and was given `true`.",
        ),
        (
            {"rate": "fast"},
            "setting-of-wrong-type: `rate` takes a number or nothing, and was given the text "
            "`fast`.",
        ),
        (
            {"fast": 1},
            "setting-of-wrong-type: `fast` takes true or false, and was given the number `1`.",
        ),
        (
            {"kind": "three"},
            "setting-of-wrong-type: `kind` takes one of `one`, `two`, and was given the text "
            "`three`.",
        ),
        (
            {"share": None},
            "setting-of-wrong-type: `share` takes a number, and was given nothing.",
        ),
        (
            {"out": 3},
            "setting-of-wrong-type: `out` takes a path or nothing, and was given the number `3`.",
        ),
        (
            {"targets": ["q", 1]},
            "setting-of-wrong-type: `targets` takes a list, each item a text, and was given "
            "`['q', 1]`.",
        ),
        (
            {"targets": 3},
            "setting-of-wrong-type: `targets` takes a list, each item a text, and was given "
            "the number `3`.",
        ),
        (
            {"fast": {"a": 1}},
            "setting-of-wrong-type: `fast` takes true or false, and was given a table.",
        ),
        ({"steps": 0}, "setting-out-of-range: `steps` must be at least 1 and is 0."),
        ({"rate": 0.0}, "setting-out-of-range: `rate` must be more than 0.0 and is 0.0."),
        (
            {"share": 1.5},
            "setting-out-of-range: `share` must be between 0.0 and 1.0 and is 1.5.",
        ),
        (
            {"share": float("nan")},
            "setting-out-of-range: `share` must be between 0.0 and 1.0 and is nan.",
        ),
        (
            {"n": 1, "max_steps": 2},
            "setting-given-twice: `n` and `max_steps` are the same setting, `steps`, and both "
            "were given.",
        ),
    ],
)
def test_each_refusal_says_what_is_wrong(values: dict[str, object], message: str) -> None:
    assert refused(name="x", **values) == [message]


def test_all_faults_are_told_at_once() -> None:
    assert refused(stepz=1, fast="yes") == [
        "unknown-setting: `stepz` is not a setting of `Small`.",
        "setting-of-wrong-type: `fast` takes true or false, and was given the text `yes`.",
        "missing-setting: `name` must be given: a text.",
    ]
    assert refused(name="x", steps=0, share=2.0) == [
        "setting-out-of-range: `steps` must be at least 1 and is 0.",
        "setting-out-of-range: `share` must be between 0.0 and 1.0 and is 2.0.",
    ]


def test_a_near_name_is_offered_and_a_far_one_gets_the_list() -> None:
    with pytest.raises(WrongCall) as caught:
        from_names(Small, {"name": "x", "step": 1, "zzzz": 1})
    near, far = caught.value.findings
    assert [fix.text for fix in near.fixes] == ["Write `steps`, the nearest name."]
    assert not far.fixes
    assert "output_dir" in far.facts[0].value


@pytest.mark.parametrize(
    ("typed", "offered"),
    [("steps-x", False), ("fast-steps", False), ("stesp", True), ("output", False)],
)
def test_a_word_more_or_less_is_no_slip(typed: str, offered: bool) -> None:
    """`--eval-data` would become `--data`, and the rows to validate on be trained on."""
    with pytest.raises(WrongCall) as caught:
        from_names(Small, {"name": "x", typed: 1})
    assert bool(caught.value.findings[0].fixes) is offered


def test_the_ends_of_a_range_belong_to_it() -> None:
    for share in (0.0, 1.0):
        assert Small(name="x", share=share, steps=1, rate=None).share == share


some_settings = st.builds(
    Small,
    name=st.text(),
    out=st.none() | st.text("abc/.", min_size=1).map(Path),
    steps=st.integers(1),
    rate=st.none() | st.floats(0, 1, exclude_min=True),
    share=st.floats(0, 1),
    fast=st.booleans(),
    kind=st.sampled_from(["one", "two"]),
    targets=st.lists(st.text()).map(tuple),
)


@hypothesis_settings(max_examples=50, deadline=None)
@given(some_settings)
def test_as_dict_and_back_is_the_same(settings: Small) -> None:
    assert from_names(Small, as_dict(settings)) == settings


def test_the_recipes_settings_round_trip() -> None:
    made = from_names(LoraSft, {"lr": 2e-4, "max_seq_length": 64, "out": "runs/a"})
    written = as_dict(made)
    assert written["out"] == "runs/a"
    assert written["lora_targets"] == ["all-linear"]
    assert from_names(LoraSft, written) == made
