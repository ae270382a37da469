"""The typed functions say what the settings classes say: when they run, in help and in the stub."""

import ast
import inspect
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any, get_type_hints

import pytest

import surefit
from surefit.cli import main
from surefit.data.rows import Fields, read_rows
from surefit.render import console
from surefit.settings import as_dict, from_names
from surefit.signatures import field_texts, fields_of
from tools import api_stub

KINDS: dict[str, type] = {
    "sft": surefit.LoraSft,
    "distill": surefit.Distillation,
    "pretrain": surefit.FeaturePretraining,
}
FUNCTIONS: dict[str, Callable[..., Any]] = {
    "sft": surefit.sft,
    "distill": surefit.distill,
    "pretrain": surefit.pretrain,
    "eval": surefit.eval,
    "ask": surefit.ask,
}


def keywords(function: Callable[..., Any]) -> dict[str, inspect.Parameter]:
    every = inspect.signature(function).parameters
    return {name: one for name, one in every.items() if one.kind is one.KEYWORD_ONLY}


@pytest.mark.parametrize("name", KINDS)
def test_a_signature_is_that_of_its_settings(name: str) -> None:
    found = keywords(FUNCTIONS[name])
    settings = KINDS[name]()
    assert list(found) == [one.name for one in fields(KINDS[name])]
    for setting, parameter in found.items():
        assert parameter.default == getattr(settings, setting)
    given = {setting: parameter.default for setting, parameter in found.items()}
    assert as_dict(from_names(KINDS[name], given)) == as_dict(settings)


@pytest.mark.parametrize("name", KINDS)
def test_help_reads_as_the_command_line_does(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(console.out, "_width", 4000)  # so that no text is broken into lines
    assert main([name, "--help"]) == 0
    page = capsys.readouterr().out
    shown = " ".join((FUNCTIONS[name].__doc__ or "").split())
    texts = field_texts(KINDS[name])
    assert texts.keys() == {one.name for one in fields(KINDS[name])}
    for text in texts.values():
        assert text in shown
        assert text in page
    assert FUNCTIONS[name].__name__ == name


@pytest.mark.parametrize("name", FUNCTIONS)
def test_results_are_frozen_and_every_field_is_documented(name: str) -> None:
    for result in api_stub.results_of(name):
        texts = field_texts(result)
        assert texts.keys() == get_type_hints(result).keys()
        shown = " ".join(fields_of(result).split())
        assert all(text in shown for text in texts.values())
        if is_dataclass(result):
            assert vars(result)["__dataclass_params__"].frozen
        else:
            assert issubclass(result, tuple)


def test_the_stub_is_what_the_functions_are() -> None:
    written = Path(api_stub.FILE).read_text(encoding="utf-8")
    assert written == api_stub.stub(), "write it again: python -m tools.api_stub"
    definitions = {
        one.name: one for one in ast.parse(written).body if isinstance(one, ast.FunctionDef)
    }
    for name, function in FUNCTIONS.items():
        given = definitions[name].args
        every = [one.arg for one in (*given.args, *given.kwonlyargs)]
        assert every == list(inspect.signature(function).parameters)


def test_a_misspelt_name_is_refused_in_python_too() -> None:
    with pytest.raises(surefit.SurefitError, match="`epoch` is not a setting"):
        surefit.sft(epoch=3)  # type: ignore[call-arg]


def test_asking_and_scoring(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a model: what it is asked, and what is given back."""

    class Trained:
        fields = Fields()

        def ask(self, text: str, system: str | None) -> str:
            return text.upper() + (system or "")

        def score(self, data: str, fields: Fields, **_: object) -> list[str]:
            return [row.target for row in read_rows(data, fields).rows]

    monkeypatch.setattr("surefit.asking.recipe_of", lambda _: "sft")
    monkeypatch.setattr("surefit.asking.load_trained", lambda _: Trained())
    answer = surefit.ask("runs/sft-1", "why?")
    assert (str(answer), answer.question, answer.run) == ("WHY?", "why?", "runs/sft-1")
    assert str(surefit.ask("runs/sft-1", "why?", system=" Be brief.")) == "WHY? Be brief."
    rows = [{"q": "a", "a": "b"}, {"q": "c", "a": "d"}]
    found: Any = surefit.eval("runs/sft-1", rows, input_field="q", target_field="a")
    assert found == ["b", "d"]


def test_a_model_of_features_is_not_scored_on_rows(tmp_path: Path) -> None:
    (tmp_path / "settings.json").write_text('{"recipe": "pretrain"}')
    with pytest.raises(surefit.SurefitError, match="takes features and answers no text"):
        surefit.eval(tmp_path, [{"input": "a", "target": "b"}])
