"""Names of other libraries mean what they mean there, and a hint never means something else."""

from pathlib import Path
from typing import Any

import pytest

from surefit import cli
from surefit.did_you_mean import misspelling_of
from surefit.errors import WrongCall
from surefit.other_names import ALMOST, OTHER_NAMES
from surefit.recipes.distill_settings import Distillation
from surefit.recipes.pretrain_settings import FeaturePretraining
from surefit.recipes.sft_settings import LoraSft
from surefit.settings import from_names, hints, names

CLASSES = (LoraSft, Distillation, FeaturePretraining)


@pytest.fixture
def called(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[LoraSft]:
    """What `surefit sft` was called with; nothing is trained."""
    import surefit.cli.sft

    seen: list[LoraSft] = []

    def sft(settings: Any = surefit.cli.sft.DEFAULTS) -> None:
        seen.append(settings)

    sft.__annotations__ = surefit.cli.sft.sft.__annotations__
    monkeypatch.setattr(surefit.cli.sft, "sft", sft)
    monkeypatch.chdir(tmp_path)
    return seen


@pytest.mark.parametrize("kind", CLASSES)
def test_no_name_of_another_library_hides_a_setting(kind: type) -> None:
    own = names(kind)
    for name, field in OTHER_NAMES.items():
        assert own.get(name, field) == field or name in hints(kind)


def test_every_name_is_for_a_setting_of_some_recipe() -> None:
    every = {field for kind in CLASSES for field in hints(kind)}
    assert {field for field, _ in ALMOST.values()} <= every
    assert set(OTHER_NAMES.values()) <= every
    assert not OTHER_NAMES.keys() & ALMOST.keys()


def test_in_python_the_mapping_is_told() -> None:
    said: list[str] = []
    given = {"per_device_train_batch_size": 2, "num_train_epochs": 3, "max_length": 64, "lr": 1e-4}
    made = from_names(LoraSft, given, said.append)
    assert made == LoraSft(batch_size=2, epochs=3, max_tokens=64, learning_rate=1e-4)
    assert said == [
        "`per_device_train_batch_size` is `batch_size` here",
        "`num_train_epochs` is `epochs` here",
        "`max_length` is `max_tokens` here",
    ]
    with pytest.raises(WrongCall, match="`micro_batch_size` and `batch_size` are the same setting"):
        from_names(LoraSft, {"micro_batch_size": 2, "batch_size": 2})


def test_as_flags(called: list[LoraSft], capsys: pytest.CaptureFixture[str]) -> None:
    call = "sft --micro_batch_size 2 --sequence-len=64 --num-epochs 1 --lora-target-modules q v"
    assert cli.main(call.split()) == 0
    wanted = LoraSft(batch_size=2, max_tokens=64, epochs=1, lora_targets=("q", "v"))
    assert called == [wanted]
    assert capsys.readouterr().out.splitlines() == [
        "`--micro_batch_size` is `--batch-size` here",
        "`--sequence-len` is `--max-tokens` here",
        "`--num-epochs` is `--epochs` here",
        "`--lora-target-modules` is `--lora-targets` here",
    ]
    assert cli.main(["sft", "--max-length", "64", "--max-tokens", "80"]) == 2
    told = " ".join(capsys.readouterr().err.split())
    assert "`--max-tokens` and `--max-length` are the same setting" in told


def test_as_keys_of_a_file(called: list[LoraSft], capsys: pytest.CaptureFixture[str]) -> None:
    Path("axolotl.yml").write_text("micro_batch_size: 2\nsequence_len: 64\nnum_epochs: 5\n")
    assert cli.main(["sft", "--config", "axolotl.yml", "--epochs", "1"]) == 0
    assert called == [LoraSft(batch_size=2, max_tokens=64, epochs=1)]
    assert "`sequence_len` is `max_tokens` here  (axolotl.yml:2)" in capsys.readouterr().out
    Path("twice.yml").write_text("micro_batch_size: 2\nbatch_size: 2\n")
    assert cli.main(["sft", "--config", "twice.yml"]) == 2
    assert "are the same setting" in capsys.readouterr().err


@pytest.mark.parametrize(
    "flag", ["--valid-data", "--tokens", "--steps", "--train-steps", "--target", "--data-dir"]
)
def test_a_hint_never_changes_the_meaning(
    flag: str, called: list[LoraSft], capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["sft", flag, "x"]) == 2
    said = capsys.readouterr().err
    assert "the nearest name" not in said
    assert "its settings" in said
    assert not called


@pytest.mark.parametrize(
    ("flag", "advised"),
    [
        ("--warmup-steps", "`warmup` is a fraction of all steps, not a number of steps."),
        ("--bf16", "Use `precision=bf16`."),
        ("--resume-from-checkpoint", "`resume` takes a run folder"),
    ],
)
def test_what_is_almost_the_same_is_told_apart(
    flag: str, advised: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["sft", flag, "1"]) == 2
    assert advised in " ".join(capsys.readouterr().err.split())


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("--epoch", "--epochs"),
        ("--batchsize", "--batch-size"),
        ("--lerning-rate", "--learning-rate"),
        ("--lora_rr", "--lora-r"),
        ("--versoin", "--version"),
        ("--lora-k", None),
        ("--eval-data", None),
        ("--warmup-steps", None),
        ("--max-length", None),
    ],
)
def test_only_slips_are_taken_for_misspellings(typed: str, meant: str | None) -> None:
    known = ["--epochs", "--batch-size", "--learning-rate", "--lora-r", "--version", "--data"]
    assert misspelling_of(typed, [*known, "--warmup", "--max-steps", "--max-tokens"]) == meant
