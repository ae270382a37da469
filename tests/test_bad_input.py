"""Every bad input that `surefit sft` can be given: what it says, and that nothing is left behind.

Each case goes through the command as a user calls it. The message must name the file, the line and
the field where there are such; the exit code is 1, or 2 for a wrong call; and the folder holds
afterwards exactly what it held before.
"""

import json
import shutil
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import islice
from pathlib import Path

import pytest
from tokenizers import Tokenizer, models
from transformers import PreTrainedTokenizerFast, Qwen3Config, Qwen3ForCausalLM

from surefit import embedded
from surefit.cli import main
from surefit.recipes import sft
from surefit.train.record import RunFolder


@dataclass(frozen=True)
class Case:
    """How to break something in the current folder, the call, and what must be said."""

    break_it: Callable[[], object]
    call: str
    says: tuple[str, ...]
    code: int = 1


def rows(count: int = 8) -> list[dict[str, object]]:
    with embedded.ROWS.open() as source:
        return [json.loads(line) for line in islice(source, count)]


def write(lines: list[dict[str, object]], name: str = "rows.jsonl") -> None:
    Path(name).write_text("".join(json.dumps(line) + "\n" for line in lines))


def with_row(line: int, **values: object) -> Callable[[], None]:
    """Eight good rows, but for these values in one of them; `...` removes a column."""

    def break_it() -> None:
        lines = rows()
        changed = {**lines[line - 1], **values}
        lines[line - 1] = {name: value for name, value in changed.items() if value is not ...}
        write(lines)

    return break_it


def without_column() -> None:
    write([{"input": row["input"], "answer": row["target"]} for row in rows()])


def with_text(line: int, text: bytes) -> Callable[[], None]:
    def break_it() -> None:
        write(rows())
        lines = Path("rows.jsonl").read_bytes().splitlines(keepends=True)
        lines[line - 1] = text + b"\n"
        Path("rows.jsonl").write_bytes(b"".join(lines))

    return break_it


def empty_file() -> None:
    Path("rows.jsonl").write_text("")


def tokenizer_without(token: str) -> Callable[[], None]:
    """A model folder whose tokenizer has no EOS, or no pad."""

    def break_it() -> None:
        write(rows())
        vocabulary = {"<eos>": 0, "<pad>": 1, "a": 2}
        kept = {name: f"<{name[:3]}>" for name in ("eos_token", "pad_token") if name != token}
        bare = PreTrainedTokenizerFast(
            tokenizer_object=Tokenizer(models.WordLevel(vocabulary, unk_token="<pad>")), **kept
        )
        bare.save_pretrained("model")
        Qwen3ForCausalLM(
            Qwen3Config(
                hidden_size=16,
                intermediate_size=16,
                num_hidden_layers=1,
                num_attention_heads=1,
                num_key_value_heads=1,
                head_dim=16,
                vocab_size=3,
            )
        ).save_pretrained("model")

    return break_it


def model_without_weights() -> None:
    write(rows())
    shutil.copytree(embedded.MODEL, "model")
    Path("model/model.safetensors").unlink()


def out_in_use() -> None:
    write(rows())
    Path("out").mkdir()
    Path("out/settings.json").write_text("{}")


def good_rows() -> None:
    write(rows())


def wrong_key() -> None:
    write(rows())
    Path("sft.toml").write_text('data = "rows.jsonl"\n\nlora_rr = 8\n')


TRAIN = "--data rows.jsonl --out out --epochs 1 --max-steps 1"

CASES = {
    "missing column": Case(
        without_column,
        TRAIN,
        ("rows.jsonl:1", "`target`", "input, answer", "--target-field answer"),
    ),
    "column missing in one row": Case(
        with_row(3, target=...), TRAIN, ("rows.jsonl:3", "`target`", "line 3", "1 of 8")
    ),
    "target that is no text": Case(
        with_row(4, target=7), TRAIN, ("rows.jsonl:4", "`target`", "a number: 7")
    ),
    "null target": Case(with_row(4, target=None), TRAIN, ("rows.jsonl:4", "`target`", "null")),
    "empty target": Case(with_row(5, target="  "), TRAIN, ("rows.jsonl:5", "`target`", "empty")),
    "target longer than the limit": Case(
        with_row(6, target="word " * 60),
        f"{TRAIN} --max-tokens 32",
        ("rows.jsonl:6", "target-too-long", "within 32 tokens", "--max-tokens"),
    ),
    "invalid JSON": Case(
        with_text(3, b'{"input": "a", "target": }'), TRAIN, ("rows.jsonl:3", "JSON", "line 3")
    ),
    "not UTF-8": Case(
        with_text(2, '{"input": "caf\xe9", "target": "b"}'.encode("latin-1")),
        TRAIN,
        ("rows.jsonl:2", "UTF-8", "e9"),
    ),
    "empty file": Case(empty_file, TRAIN, ("rows.jsonl", "empty")),
    "one row": Case(lambda: write(rows(1)), TRAIN, ("rows.jsonl", "only 1 usable row")),
    "no row left after the split": Case(
        good_rows, f"{TRAIN} --held-out 1.0", ("nothing-to-train-on", "8")
    ),
    "no such file": Case(
        good_rows, TRAIN.replace("rows.jsonl", "row.jsonl"), ("row.jsonl", "rows.jsonl")
    ),
    "tokenizer without EOS": Case(
        tokenizer_without("eos_token"), f"{TRAIN} --model model", ("no-end-token", "`model`", "EOS")
    ),
    "tokenizer without pad": Case(
        tokenizer_without("pad_token"),
        f"{TRAIN} --model model",
        ("no-pad-token", "`model`", "--pad-token '<eos>'"),
    ),
    "targets of LoRA that match nothing": Case(
        good_rows,
        f"{TRAIN} --lora-targets q_prj v_proj",
        ("`q_prj`", "q_proj", "down_proj", "--lora-targets q_proj v_proj"),
    ),
    "model folder without weights": Case(
        model_without_weights,
        f"{TRAIN} --model model",
        ("model-without-weights", "model", "config"),
    ),
    "no such model": Case(good_rows, f"{TRAIN} --model ./nowhere/x", ("./nowhere/x",)),
    "out folder in use": Case(out_in_use, TRAIN, ("out", "already holds a run", "--resume out")),
    "misspelt flag": Case(
        good_rows, f"{TRAIN} --lora_rr 8", ("unknown-setting", "--lora-r"), code=2
    ),
    "misspelt config key": Case(
        wrong_key, "--config sft.toml --out out", ("sft.toml:3", "`lora_rr`", "`lora_r`"), code=2
    ),
    "number out of range": Case(
        good_rows, f"{TRAIN} --held-out 1.5", ("`held_out`", "between 0", "1.5"), code=2
    ),
    "template without a place for the input": Case(
        good_rows, f"{TRAIN} --template Answer:", ("Answer:", "{input}"), code=2
    ),
    "augmentation that cannot be imported": Case(
        good_rows,
        f"{TRAIN} --augmentation-factor 2 --augment-with nowhere:noise",
        ("nowhere",),
        code=2,
    ),
    "the rows to train on as rows to validate on": Case(
        lambda: write(rows()),
        f"{TRAIN} --eval-data rows.jsonl",
        ("SF140", "No training rows are left: all 8 duplicate rows in `rows.jsonl`", "--held-out"),
    ),
    "learning rate so small that steps round away": Case(
        lambda: write(rows()),
        f"{TRAIN} --learning-rate 1e-12",
        ("SF166", "% of the trainable weights", "1e-12", "`float32`", "--learning-rate "),
    ),
    "all weights trained in 4 bits": Case(
        lambda: write(rows()),
        f"{TRAIN} --full --load-in-4bit",
        ("SF168", "`--full`", "`--load-in-4bit`"),
        code=2,
    ),
}


def everything() -> dict[str, bytes]:
    """Every file below the current folder, with what is in it."""
    files = (path for path in sorted(Path().rglob("*")) if "__pycache__" not in path.parts)
    return {str(path): path.read_bytes() if path.is_file() else b"" for path in files}


if find_spec("bitsandbytes") is None:
    CASES["4 bits without bitsandbytes"] = Case(
        lambda: write(rows()),
        f"{TRAIN} --load-in-4bit",
        ("SF167", "bitsandbytes, which is not installed", '[4bit]"'),
    )


@pytest.mark.parametrize("name", CASES)
def test_bad_input_is_named_and_leaves_nothing_behind(
    name: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    case = CASES[name]
    case.break_it()
    before = everything()
    code = main(["sft", *case.call.split()])
    said = " ".join(capsys.readouterr().err.split())
    assert code == case.code, said
    for words in case.says:
        assert words in said
    assert "Traceback" not in said
    assert everything() == before


@pytest.mark.parametrize(
    ("line", "values"), [(4, {"target": None}), (6, {"target": "word " * 200})]
)
def test_bad_rows_can_be_left_out(
    line: int,
    values: dict[str, object],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    with_row(line, **values)()
    flags = f"{TRAIN} --max-tokens 128 --skip-bad-rows --held-out 0 --no-evaluate-before"
    assert main(["sft", *flags.split()]) == 0
    assert RunFolder(Path("out")).read_report().training_rows == 7
    assert "kipped" in capsys.readouterr().out


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A real disk of 600 kB: room for the run folder and its metrics, not for an adapter."""
    place = tmp_path / "disk"
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=600k", "tmpfs", str(place)]
    if shutil.which("mount") is None or subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("a small disk can only be mounted by root")
    yield place
    subprocess.run(["umount", str(place)], check=True)


def test_a_full_disk_is_named_and_loses_nothing(
    small_disk: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    write(rows())
    out = small_disk / "run"
    flags = f"--data rows.jsonl --out {out} --epochs 1 --max-steps 2 --held-out 0"
    assert main(["sft", *flags.split()]) == 1
    said = " ".join(capsys.readouterr().err.split())
    assert "disk-full" in said
    assert "the disk is full" in said
    left = sorted(path.relative_to(out).as_posix() for path in out.rglob("*") if path.is_file())
    assert {"metrics.jsonl", "settings.json", "findings.json"} <= set(left)
    weights = ("adapter", "best", "checkpoints")
    assert not [name for name in left if name.endswith(".part") or name.startswith(weights)]
    assert len(RunFolder(out).metrics()) == 2

    # with room again it goes on from what there is
    moved = tmp_path / "moved"
    shutil.copytree(out, moved)
    assert sft.run(resume=moved).steps == 2


def test_a_folder_that_cannot_be_written_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    write(rows())
    Path("file").write_text("")
    assert main(["sft", *TRAIN.replace("--out out", "--out file/run").split()]) == 1
    said = " ".join(capsys.readouterr().err.split())
    assert "file/run" in said
    assert "Traceback" not in said
