"""Files of weights are known again by what is in them, and told from others."""

import shutil
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from surefit.embedded import MODEL
from surefit.models.load import ModelSource, find_model
from surefit.models.weight_files import weight_files, weights_fingerprint_of


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return shutil.copytree(MODEL, tmp_path / "model")


def test_the_same_files_elsewhere(folder: Path) -> None:
    found = weights_fingerprint_of(find_model(str(folder)))
    assert found == weights_fingerprint_of(find_model("embedded"))
    (folder / "config.json").touch()
    assert found == weights_fingerprint_of(find_model(str(folder)))


@pytest.mark.parametrize("which", [0, -1])
def test_every_tensor_is_looked_at(which: int, folder: Path) -> None:
    source, file = find_model(str(folder)), folder / "model.safetensors"
    before = weights_fingerprint_of(source)
    whole = load_file(file)
    for name in whole:
        changed = {key: tensor.clone() for key, tensor in whole.items()}
        changed[name].view(-1)[which] += 1
        save_file(changed, file, metadata={"format": "pt"})
        assert weights_fingerprint_of(source) != before, name


def test_other_files_are_read_whole(tmp_path: Path) -> None:
    file = tmp_path / "model.gguf"
    file.write_bytes(bytes(100_000))
    source = ModelSource("model.gguf", str(tmp_path), gguf_file="model.gguf")
    before = weights_fingerprint_of(source)
    content = bytearray(100_000)
    content[50_000] = 1
    file.write_bytes(content)
    assert weights_fingerprint_of(source) != before


def test_safetensors_are_preferred_as_they_are_in_loading(tmp_path: Path) -> None:
    torch.save({}, tmp_path / "pytorch_model.bin")
    source = ModelSource("both", str(tmp_path))
    assert [file.name for file in weight_files(source)] == ["pytorch_model.bin"]
    for shard in ("model-2.safetensors", "model-1.safetensors"):
        save_file({"weight": torch.zeros(2)}, tmp_path / shard)
    names = [file.name for file in weight_files(source)]
    assert names == ["model-1.safetensors", "model-2.safetensors"]


def test_of_a_model_that_is_not_here_nothing_is_known() -> None:
    source = find_model("nobody/never-downloaded")
    assert weight_files(source) == []
    assert weights_fingerprint_of(source) is None
