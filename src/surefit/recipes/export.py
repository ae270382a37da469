"""A run's trained model as a folder to give away: run -> merged weights -> check -> model card."""

import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import torch

from surefit.data.known_rows import read_known_rows
from surefit.errors import BadInput
from surefit.models.chatter import without_chatter
from surefit.models.gguf_file import check_gguf, features_as_gguf, weights_in_gguf, write_gguf
from surefit.models.load import empty_model, find_model, load_model, load_tokenizer
from surefit.models.save import save_merged
from surefit.render.console import say
from surefit.settings import from_names
from surefit.train.record import RunFolder, check_free, recipe_of
from surefit.writing import new_folder, write_json, writing

from .model_card import model_card
from .sft_settings import LoraSft

EXPORT = "export"
"""In the run folder, where nothing else is named."""

CARD, GGUF = "README.md", "model-f16.gguf"
TRIED = "Who has to pay, and how much?"
"""A text on which models are compared."""
MACHINE_KEYS = ("_name_or_path", "name_or_path", "tokenizer_file", "base_model_name_or_path")
"""In configurations: where a model lay on this machine."""


@dataclass(frozen=True, slots=True)
class Exported:
    """What was written."""

    folder: str
    difference: float | None
    """The largest of any logit, between the adapters on their base and the merged weights."""


def export(run: Path, out: Path | None = None, *, gguf: bool = False) -> Exported:
    """Refuses a folder that holds anything, but for the run's own `export`, which is replaced."""
    recipe = recipe_of(run)
    folder = RunFolder(run, recipe)
    settings = folder.read_settings()
    trained = folder.trained()
    place = out or run / EXPORT
    if out is not None:
        check_free(out)

    if gguf:
        _check_gguf(recipe, settings, trained)

    # merged weights
    adapter = recipe == "sft" and not settings["full"]
    if adapter:
        difference = _merge(from_names(LoraSft, settings), trained, place)
        say(f"Merged: logits differ from the adapted model by at most {difference:.1e}")
    else:
        difference = None
        with new_folder(place) as side:
            shutil.copytree(trained, side, dirs_exist_ok=True)

    # without this machine's paths
    for file in place.glob("*.json"):
        _forget_paths(file)
    report = folder.read_json_report() if folder.is_done else {}
    known = read_known_rows(run)
    system = known.about.system if known else None
    if gguf:
        _write_gguf(place)
    card = model_card(recipe, settings, report, folder.segments(), system)
    (place / CARD).write_text(card, encoding="utf-8")
    say(f"Exported: {place}  ({CARD}: base model, data, settings, scores)")
    return Exported(str(place), difference)


@torch.no_grad()
def _merge(settings: LoraSft, adapter: Path, place: Path) -> float:
    from peft import PeftModel

    source = find_model(settings.model, trust_remote_code=settings.trust_remote_code)
    tokenizer = load_tokenizer(source, settings.pad_token)
    ids = torch.tensor([tokenizer(TRIED)["input_ids"]])
    with without_chatter():
        adapted = PeftModel.from_pretrained(load_model(source), str(adapter)).eval()
    before = adapted(ids).logits
    save_merged(load_model(source), adapter, tokenizer, place)
    after = load_model(find_model(str(place))).eval()(ids).logits
    return float((after - before).abs().max())


def _check_gguf(recipe: str, settings: dict[str, Any], trained: Path) -> None:
    if recipe == "pretrain":
        raise BadInput(features_as_gguf())
    adapter = recipe == "sft" and not settings["full"]
    source = find_model(
        settings["model"] if adapter else str(trained),
        trust_remote_code=settings["trust_remote_code"],
    )
    tokenizer = load_tokenizer(source, settings["pad_token"])
    check_gguf(empty_model(source).config.model_type, tokenizer)


@torch.no_grad()
def _write_gguf(place: Path) -> None:
    """And reads it back: its logits are held against those of the folder."""
    source = find_model(str(place))
    model, tokenizer = load_model(source).eval(), load_tokenizer(source)
    file = place / GGUF
    with writing(file):
        write_gguf(model, tokenizer, file, place.resolve().name)
    ids = torch.tensor([tokenizer(TRIED)["input_ids"]])
    before = model(ids).logits
    model.load_state_dict(weights_in_gguf(file, model))
    difference = float((model(ids).logits - before).abs().max())
    say(f"GGUF: {file}, matrices in fp16; read back, logits differ by at most {difference:.1e}")


def _forget_paths(file: Path) -> None:
    content = msgspec.json.decode(file.read_bytes())
    without = _without_paths(content)
    if without != content:
        write_json(file, without)


def _without_paths(content: Any) -> Any:
    """Also of a configuration inside another, as that of an encoder."""
    if not isinstance(content, dict):
        return content
    return {key: _without_paths(value) for key, value in content.items() if key not in MACHINE_KEYS}
