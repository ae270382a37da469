"""Runs on rows that are in memory, of the newer kinds: killed, gone on with, in two processes."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

import preloaded
import surefit
from surefit.errors import WrongCall
from surefit.train.pace import without_pace
from surefit.train.record import RunFolder

pytestmark = pytest.mark.slow

TEMPLATE = (
    "{% for t in tools or [] %}{{ 'tool: ' + (t | tojson) + '\n' }}{% endfor %}"
    "{% for m in messages %}{{ m.role + ': ' + (m.content or '') }}"
    "{% for c in m.tool_calls or [] %}{{ ' call ' + (c.function | tojson) }}{% endfor %}"
    "{{ '\n' }}{% endfor %}{% if add_generation_prompt %}{{ 'assistant:' }}{% endif %}"
)
TOOLS = [{"type": "function", "function": {"name": "weather", "parameters": {}}}]
PROGRAM = """
import json, sys, surefit
from surefit.train.ranks import leave_together
rows = json.loads(open(sys.argv[1]).read())
settings = json.loads(sys.argv[2])
surefit.sft(data=(row for row in rows), **settings)
leave_together()
"""
TORCHRUN = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]


def tool_rows() -> list[dict[str, Any]]:
    rows = []
    for number in range(32):
        city, said = f"Town {number}", "dry" if number % 2 else "wet"
        call = {"function": {"name": "weather", "arguments": {"city": city}}}
        messages = [
            {"role": "user", "content": f"Rain in {city}?"},
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "name": "weather", "content": said},
            {"role": "assistant", "content": "No." if number % 2 else "Yes."},
        ]
        rows.append({"messages": messages, "tools": TOOLS})
    return rows


def completion_rows() -> list[dict[str, Any]]:
    return [{"prompt": f"{n} and one is", "completion": f" {n + 1}."} for n in range(40)]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The embedded model with a chat template that knows tools."""
    from surefit.models.load import find_model, load_model, load_tokenizer

    folder = tmp_path_factory.mktemp("model")
    source = find_model("embedded")
    tokenizer = load_tokenizer(source)
    tokenizer.chat_template = TEMPLATE
    tokenizer.save_pretrained(folder)
    load_model(source).save_pretrained(folder)
    return str(folder)


def flags(out: Path, model: str, **more: Any) -> dict[str, Any]:
    return {
        "out": str(out),
        "model": model,
        "epochs": 2,
        "held_out": 0.125,
        "lora_dropout": 0.0,
        "max_new_tokens": 4,
        "save_every": 4,
        "threads": 1,
        **more,
    }


def started(rows: list[Any], settings: dict[str, Any], *launcher: str) -> subprocess.Popen[str]:
    folder = Path(settings["out"]).parent
    (folder / "rows.json").write_text(json.dumps(rows))
    (folder / "program.py").write_text(PROGRAM)
    program = [str(folder / "program.py"), str(folder / "rows.json"), json.dumps(settings)]
    return subprocess.Popen(
        [sys.executable if launcher else preloaded.python(), *launcher, *program],
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def weights(out: Path) -> dict[str, torch.Tensor]:
    return load_file(out / "adapter/adapter_model.safetensors")


def test_killed_it_goes_on_with_the_rows_that_were_in_memory(model: str, tmp_path: Path) -> None:
    rows = tool_rows()
    unbroken = surefit.sft(data=rows, **flags(tmp_path / "unbroken", model))
    assert (unbroken.training_rows, unbroken.held_out_rows) == (28, 4)
    out = tmp_path / "run"
    process = started(rows, flags(out, model))
    while not any(record["step"] >= 5 for record in RunFolder(out).metrics()):
        assert process.poll() is None, process.communicate()[0]
        time.sleep(0.01)
    process.kill()
    process.communicate()
    assert process.returncode == -signal.SIGKILL
    with pytest.raises(WrongCall, match="different `epochs`"):
        surefit.sft(data=rows, resume=out, epochs=3)
    surefit.sft(resume=out)
    whole, other = RunFolder(tmp_path / "unbroken"), RunFolder(out)
    assert without_pace(other.metrics()) == without_pace(whole.metrics())
    assert other.predictions(2) == whole.predictions(2)
    first, second = weights(whole.path), weights(other.path)
    assert all(torch.equal(first[key], second[key]) for key in first)
    assert other.predictions(2)[0]["place"].startswith("data[")


def test_two_processes_train_on_rows_in_memory_as_one_does(model: str, tmp_path: Path) -> None:
    rows = completion_rows()
    alone = tmp_path / "alone"
    surefit.sft(data=rows, **flags(alone, model, batch_size=8, epochs=1))
    out = tmp_path / "run"
    process = started(rows, flags(out, model, batch_size=4, epochs=1), *TORCHRUN)
    said, _ = process.communicate(timeout=300)
    assert process.returncode == 0, said
    assert said.count("Rows: 40 from data, kind prompt-completion") == 1
    one, other = RunFolder(alone).metrics(), RunFolder(out).metrics()
    assert len(one) == len(other)
    for mine, its in zip(one, other, strict=True):
        assert mine["step"] == its["step"]
        if "loss" in mine:
            assert its["loss"] == pytest.approx(mine["loss"], rel=1e-4)
    assert len((out / "data.rows").read_bytes().splitlines()) == 40
