"""A teacher never learns, and gives its own logits at places, wherever its weights lie."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

from surefit.errors import BadInput
from surefit.losses.places import Places, find_places
from surefit.models.load import ModelSource, find_model
from surefit.models.offload import stream_from_memory, where_weights_lie
from surefit.train.teacher import Teacher, load_teacher
from tiny_models import MODELS, VOCABULARY, tiny

CPU = torch.device("cpu")
CHANGED = {"gemma2", "cohere", "granite"}
"""Models that do something to their logits behind the head."""


def a_batch(rows: int = 3, tokens: int = 12) -> dict[str, torch.Tensor]:
    torch.manual_seed(1)
    ids = torch.randint(2, VOCABULARY, (rows, tokens))
    mask = torch.ones_like(ids)
    mask[1, 9:] = 0
    labels = ids.masked_fill(mask == 0, -100)
    labels[:, :4] = -100
    return {"input_ids": ids, "attention_mask": mask, "labels": labels}


def places_of(batch: dict[str, torch.Tensor]) -> Places:
    return find_places(batch["labels"])


def logits_of(teacher: Teacher, batch: dict[str, torch.Tensor]) -> torch.Tensor:
    hidden, head = teacher.hidden(batch, places_of(batch)), teacher.head
    return hidden if head is None else torch.nn.functional.linear(hidden, head.weight, head.bias)


def made(name: str, **settings: Any) -> Any:
    return tiny(name, "eager" if name in {"gemma2", "mamba"} else "sdpa", **settings)


def saved(name: str, folder: Path, **settings: Any) -> ModelSource:
    made(name, **settings).save_pretrained(folder)
    return find_model(str(folder))


@pytest.mark.parametrize("name", MODELS)
def test_logits_at_places_are_the_models_own(name: str) -> None:
    model = made(name)
    batch = a_batch()
    places = places_of(batch)
    with torch.no_grad():
        given = {key: batch[key] for key in ("input_ids", "attention_mask")}
        own = places.of(model(**given).logits)
    teacher = Teacher(model)
    assert (teacher.head is None) == (name in CHANGED)
    assert teacher.rows == VOCABULARY
    torch.testing.assert_close(logits_of(teacher, batch), own, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("name", ["phi", "llama", "granite"])
def test_padding_rows_of_its_head_are_left_out(name: str) -> None:
    teacher, batch = Teacher(made(name)), a_batch()
    said = teacher.read(batch, places_of(batch), 150)
    logits = said.hidden
    if said.head is not None:
        logits = torch.nn.functional.linear(said.hidden, said.head.weight, said.head.bias)
    torch.testing.assert_close(logits, logits_of(teacher, batch)[:, :150])


def test_a_cap_that_hardly_shows_is_seen() -> None:
    assert Teacher(made("gemma2", final_logit_softcapping=1e6)).head is None
    assert Teacher(made("gemma2", final_logit_softcapping=None)).head is not None


def test_it_never_learns() -> None:
    model = made("gpt2", resid_pdrop=0.5)
    teacher, batch = Teacher(model), a_batch()
    before = logits_of(teacher, batch)
    model.train()  # as whoever holds the model could
    after = logits_of(teacher, batch)
    assert torch.equal(before, after)
    assert not model.training
    assert not after.requires_grad
    assert not any(parameter.requires_grad for parameter in model.parameters())


def test_passes_are_counted_where_they_are_made(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("llama", "gemma2"):
        teacher, batch = Teacher(made(name)), a_batch()
        assert teacher.forwards == 0
        logits_of(teacher, batch)
        logits_of(teacher, batch)
        assert teacher.forwards == 2
        teacher.model(input_ids=batch["input_ids"])  # by another's hand
        assert teacher.forwards == 3

        def fails(*_given: object, **_named: object) -> None:
            raise RuntimeError("no pass")

        monkeypatch.setattr(teacher.model.model.layers[0], "forward", fails)
        with pytest.raises(RuntimeError, match="no pass"):
            logits_of(teacher, batch)
        assert teacher.forwards == 3
        monkeypatch.undo()


@pytest.mark.parametrize("name", MODELS)
def test_from_disk_it_gives_the_same_to_the_bit(name: str, tmp_path: Path) -> None:
    source, batch = saved(name, tmp_path / "model"), a_batch()
    whole = load_teacher(source, torch.float32, CPU, "none", tmp_path / "unused")
    parted = load_teacher(source, torch.float32, CPU, "disk", tmp_path / "offloaded")
    assert torch.equal(logits_of(parted, batch), logits_of(whole, batch))
    assert torch.equal(logits_of(parted, batch), logits_of(whole, batch))
    assert parted.forwards == whole.forwards == 2
    head = parted.model.get_output_embeddings()
    here = {id(one) for one in parted.model.parameters() if one.device.type != "meta"}
    assert here == {id(one) for one in head.parameters()}
    assert not (tmp_path / "unused").exists()
    written = sorted(file.name for file in (tmp_path / "offloaded").iterdir())
    assert all("experts" in file for file in written), "only what its files hold otherwise"
    assert bool(written) == (name in {"mixtral", "qwen3-moe"})


def test_from_disk_products_of_experts_round_the_same(tmp_path: Path) -> None:
    # So wide that the product is made otherwise where weights begin at an odd place in memory.
    ids = torch.arange(32)[None]
    batch = {"input_ids": ids, "labels": ids}
    wide = {"hidden_size": 256, "moe_intermediate_size": 256, "num_experts": 16}
    source = saved("qwen3-moe", tmp_path / "model", **wide)
    whole = load_teacher(source, torch.float32, CPU, "none", tmp_path / "unused")
    parted = load_teacher(source, torch.float32, CPU, "disk", tmp_path / "offloaded")
    assert torch.equal(logits_of(parted, batch), logits_of(whole, batch))


@pytest.mark.parametrize("name", ["llama", "gpt2", "qwen3-moe"])
def test_from_disk_in_another_precision_than_the_files(name: str, tmp_path: Path) -> None:
    source, batch = saved(name, tmp_path / "model"), a_batch()
    whole = load_teacher(source, torch.bfloat16, CPU, "none", tmp_path / "unused")
    parted = load_teacher(source, torch.bfloat16, CPU, "disk", tmp_path / "offloaded")
    assert parted.model.dtype == torch.bfloat16
    assert torch.equal(logits_of(parted, batch), logits_of(whole, batch))


@pytest.mark.parametrize("tied", [False, True])
@pytest.mark.parametrize("name", ["llama", "qwen3-moe"])
def test_from_memory_it_gives_the_same_to_the_bit(name: str, tied: bool) -> None:
    # What a GPU is given layer by layer, the CPU is given here by the same hooks.
    whole = Teacher(made(name, tie_word_embeddings=tied))
    parted = Teacher(stream_from_memory(made(name, tie_word_embeddings=tied), CPU))
    batch = a_batch()
    assert torch.equal(logits_of(parted, batch), logits_of(whole, batch))
    assert parted.forwards == 1
    head, embedding = (
        parted.model.get_output_embeddings().weight,
        parted.model.get_input_embeddings().weight,
    )
    here = {id(one) for one in parted.model.parameters() if one.device.type != "meta"}
    assert here == {id(head)}
    assert (embedding is head) == tied


def test_without_a_gpu_main_memory_is_where_the_weights_are(tmp_path: Path) -> None:
    source = saved("llama", tmp_path / "model")
    teacher = load_teacher(source, torch.float32, CPU, "cpu", tmp_path / "unused")
    assert {one.device.type for one in teacher.model.parameters()} == {"cpu"}
    assert "no GPU" in teacher.where
    assert teacher.where == where_weights_lie("cpu", CPU)
    assert "GPU (cuda:0) one by one" in where_weights_lie("cpu", torch.device("cuda", 0))
    assert "on disk" in where_weights_lie("disk", CPU)


def test_a_packed_file_cannot_be_read_in_parts(tmp_path: Path) -> None:
    source = ModelSource("smollm2", str(tmp_path), gguf_file="smollm2.gguf")
    with pytest.raises(BadInput) as caught:
        load_teacher(source, torch.float32, CPU, "disk", tmp_path)
    (found,) = caught.value.findings
    assert found.code == "SF144"
    assert "smollm2.gguf" in found.facts[0].value


def test_a_model_whose_layers_cannot_come_by_themselves(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from transformers.models.llama.modeling_llama import LlamaMLP

    def by_weight(self: Any, given: torch.Tensor) -> torch.Tensor:
        inside = self.act_fn(self.gate_proj(given)) * self.up_proj(given)
        return torch.nn.functional.linear(inside, self.down_proj.weight)

    monkeypatch.setattr(LlamaMLP, "forward", by_weight)
    source = saved("llama", tmp_path / "model")
    with pytest.raises(BadInput) as caught:
        load_teacher(source, torch.float32, CPU, "disk", tmp_path / "offloaded")
    (found,) = caught.value.findings
    assert found.code == "SF144"
    assert "LlamaForCausalLM" in found.why
    assert "a weight of 48 x 32 that is not here" in found.python_said
    assert load_teacher(source, torch.float32, CPU, "none", tmp_path).head is not None


def test_weights_that_lack_are_refused_from_disk_too(tmp_path: Path) -> None:
    source = saved("llama", tmp_path / "model")
    file = tmp_path / "model" / "model.safetensors"
    tensors = load_file(file)
    del tensors["model.layers.1.mlp.up_proj.weight"]
    save_file(tensors, file, metadata={"format": "pt"})
    with pytest.raises(BadInput) as caught:
        load_teacher(source, torch.float32, CPU, "disk", tmp_path / "offloaded")
    (found,) = caught.value.findings
    assert found.rule == "model-without-weights"
    assert "model.layers.1.mlp.up_proj.weight" in found.facts[0].value


MEASURED = """
import json, os, sys
from pathlib import Path
import torch
from surefit.losses.places import Places
from surefit.models.load import find_model
from surefit.train.teacher import load_teacher

def status(name):
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(name + ":"))

folder = Path(sys.argv[1])
places = Places(torch.arange(8), torch.arange(8))
batch = {"input_ids": torch.arange(32)[None]}

def measure(offload, source):
    before, anonymous = status("VmRSS"), status("RssAnon")
    to = folder / "offloaded"
    teacher = load_teacher(find_model(str(source)), torch.float32, torch.device("cpu"), offload, to)
    own = [status("RssAnon")]
    for layer in teacher.model.model.layers:
        layer.register_forward_hook(lambda *_: own.append(status("RssAnon")))
    made = [teacher.hidden(batch, places).double().sum().item() for _ in range(3)]
    grown = status("VmHWM") - before
    return {"grown": grown, "own": max(own) - anonymous, "forwards": teacher.forwards, "made": made}

measure("disk", folder / "small")  # what the libraries import on the way
for offload in ("none", "disk"):
    read, write = os.pipe()
    if os.fork() == 0:
        os.write(write, json.dumps(measure(offload, folder / "large")).encode())
        os._exit(0)
    os.close(write)
    print(os.read(read, 1 << 16).decode())
    os.wait()
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="the kernel tells the peak in /proc")
def test_from_disk_it_holds_less_than_its_weights(tmp_path: Path) -> None:
    saved("llama", tmp_path / "small")
    large = made("llama", hidden_size=512, intermediate_size=1408, num_hidden_layers=8)
    weights = sum(one.numel() * one.element_size() for one in large.parameters())
    large.save_pretrained(tmp_path / "large")
    run = subprocess.run(
        [sys.executable, "-c", MEASURED, str(tmp_path)],
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
    )
    none, disk = (json.loads(line) for line in run.stdout.splitlines())
    assert weights > 80e6
    assert none["forwards"] == disk["forwards"] == 3
    assert none["made"] == disk["made"]
    assert none["grown"] > weights
    # Pages of the mapped file count as the process's for as long as nobody else needs the room, so
    # that the peak differs from run to run; what only this process holds does not.
    assert disk["grown"] < none["grown"]
    assert disk["own"] < weights / 2
    print(f"weights {weights / 1e6:.0f} MB: {none['grown']} bytes without, {disk['grown']} with")
