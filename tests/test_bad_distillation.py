"""Every bad input that `surefit distill` can be given: what it says, and that nothing is left."""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from surefit import embedded
from surefit.cli import main
from surefit.recipes.distill_settings import Distillation
from surefit.settings import as_dict

SMALL = "--data texts.txt --out out --steps 2 --batch-size 4 --max-tokens 32 --threads 1"


@dataclass(frozen=True)
class Case:
    """What to put into the current folder, the call, and what must be said."""

    prepare: Callable[[], object]
    call: str
    says: tuple[str, ...]
    code: int = 1


def texts(count: int = 30) -> None:
    Path("texts.txt").write_text("\n\n".join(embedded.TEXT.read_text().split("\n\n")[:count]))


def of(content: str) -> Callable[[], object]:
    return lambda: Path("texts.txt").write_text(content)


def other_tokens() -> None:
    """The embedded student, with two tokens of its tokenizer changed for each other."""
    texts()
    AutoModelForCausalLM.from_pretrained(embedded.STUDENT).save_pretrained("other")
    AutoTokenizer.from_pretrained(embedded.STUDENT).save_pretrained("other")
    file = Path("other/tokenizer.json")
    content = json.loads(file.read_text())
    ids = content["model"]["vocab"]
    by_id = {number: token for token, number in ids.items()}
    ids[by_id[1000]], ids[by_id[1001]] = 1001, 1000
    file.write_text(json.dumps(content))


def smaller_head() -> None:
    texts()
    model = AutoModelForCausalLM.from_pretrained(embedded.STUDENT, dtype=torch.float32)
    model.resize_token_embeddings(1400)
    model.save_pretrained("other")
    AutoTokenizer.from_pretrained(embedded.STUDENT).save_pretrained("other")


def no_texts() -> None:
    Path("rows.jsonl").write_text('{"title": "a"}\n{"title": "b"}\n')


def other_folder() -> None:
    texts()
    Path("cache").mkdir()
    Path("cache/notes.txt").write_text("mine")


CASES = {
    "other tokens": Case(
        other_tokens,
        f"{SMALL} --student other",
        ("teacher-of-other-tokens", "2 ids", "`Ġwait` and `ĠBan`"),
    ),
    "a head without all tokens": Case(
        smaller_head,
        f"{SMALL} --student other",
        ("head-smaller-than-tokenizer", "1,400", "1,535"),
    ),
    "empty text": Case(of(""), SMALL, ("empty-source", "texts.txt")),
    "one short text": Case(of("hi"), SMALL, ("too-few-rows", "only 1 usable row")),
    "neither answers nor texts": Case(
        no_texts, SMALL.replace("texts.txt", "rows.jsonl"), ("missing-column", "title")
    ),
    "nothing held out": Case(texts, f"{SMALL} --held-out 0", ("nothing-held-out",)),
    "a rate at which nothing moves": Case(
        texts, f"{SMALL} --student_lr 1e-12", ("updates-lost", "%", "float32", "--learning-rate")
    ),
    "no such teacher": Case(texts, f"{SMALL} --teacher_model ./none", ("no-such-model", "./none")),
    "a folder that holds something else": Case(
        other_folder, f"{SMALL} --cache-teacher cache", ("teacher-cache-folder-in-use", "notes.txt")
    ),
    "alpha out of range": Case(texts, f"{SMALL} --alpha 1.5", ("`alpha`", "1.5"), code=2),
    "temperature out of range": Case(
        texts, f"{SMALL} --temperature 0", ("`temperature`", "more than 0"), code=2
    ),
    "an unknown objective": Case(texts, f"{SMALL} --objective l2", ("forward-kl",), code=2),
    "a cache and a router": Case(
        texts, f"{SMALL} --cache-teacher cache --router sar", ("--router sar",), code=2
    ),
    "a cache and samples": Case(
        texts, f"{SMALL} --cache-teacher cache --on-policy 0.5", ("--on-policy 0.5",), code=2
    ),
    "routers of an offloaded teacher": Case(
        texts, f"{SMALL} --offload-teacher disk --router sar", ("--router ka",), code=2
    ),
    "nothing to compare": Case(texts, f"{SMALL} --compare", ("--router",), code=2),
    "noise in texts": Case(
        texts, f"{SMALL} --augmentation-factor 2", ("--augmentation-factor",), code=2
    ),
}


def everything() -> dict[str, bytes]:
    files = sorted(Path().rglob("*"))
    return {str(path): path.read_bytes() if path.is_file() else b"" for path in files}


@pytest.mark.parametrize("name", CASES)
def test_bad_input_is_named_and_leaves_nothing_behind(
    name: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    case = CASES[name]
    case.prepare()
    before = everything()
    code = main(["distill", *case.call.split()])
    said = " ".join(capsys.readouterr().err.split())
    assert code == case.code, said
    for words in case.says:
        assert words in said
    assert "Traceback" not in said
    assert everything() == before


def test_a_rate_at_which_nothing_moves_can_be_forced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    texts()
    assert main(["distill", *SMALL.split(), "--student_lr", "1e-12", "--force"]) == 0


def test_a_cache_of_other_rows_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    texts()
    assert main(["distill", *SMALL.split(), "--cache-teacher", "cache"]) == 0
    texts(31)
    other = SMALL.replace("--out out", "--out other")
    assert main(["distill", *other.split(), "--cache-teacher", "cache"]) == 1
    said = " ".join(capsys.readouterr().err.split())
    assert "teacher-cache-of-another-run" in said
    assert not Path("other").exists()


def test_a_cache_of_another_teacher_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    texts()
    assert main(["distill", *SMALL.split(), "--cache-teacher", "cache"]) == 0
    other = SMALL.replace("--out out", "--out other") + " --teacher embedded"
    assert main(["distill", *other.split(), "--cache-teacher", "cache"]) == 1
    said = " ".join(capsys.readouterr().err.split())
    assert "teacher-cache-of-another-run" in said
    assert "embedded-teacher" in said


def test_every_setting_is_told_in_the_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["distill", "--help"]) == 0
    said = re.sub(r"[^\w-]+", "", capsys.readouterr().out)
    for name in as_dict(Distillation()):
        assert f"--{name.replace('_', '-')}" in said
