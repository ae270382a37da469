"""A run's trained model as a folder to give away: run -> merged weights -> check -> model card."""

import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import torch

from surefit.data.known_rows import read_known_rows
from surefit.models.chatter import without_chatter
from surefit.models.load import find_model, load_model, load_tokenizer
from surefit.models.save import save_merged
from surefit.render.console import say
from surefit.settings import from_names
from surefit.train.record import RunFolder, check_free, recipe_of
from surefit.writing import new_folder, write_json

from .model_card import model_card
from .sft_settings import LoraSft

EXPORT = "export"
"""In the run folder, where nothing else is named."""

CARD = "README.md"
MACHINE_KEYS = ("_name_or_path", "name_or_path", "tokenizer_file", "base_model_name_or_path")
"""In configurations: where a model lay on this machine."""


@dataclass(frozen=True, slots=True)
class Exported:
    """What was written."""

    folder: str
    difference: float | None
    """The largest of any logit, between the adapters on their base and the merged weights."""


def export(run: Path, out: Path | None = None) -> Exported:
    """Refuses a folder that holds anything, but for the run's own `export`, which is replaced."""
    recipe = recipe_of(run)
    folder = RunFolder(run, recipe)
    settings = folder.read_settings()
    trained = folder.trained()
    place = out or run / EXPORT
    if out is not None:
        check_free(out)

    # merged weights
    adapter = recipe == "sft" and not settings["full"]
    if adapter:
        difference = _merge(from_names(LoraSft, settings), trained, place)
        say(f"Merged: no logit is more than {difference:.1e} from that of adapters and base")
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
    card = model_card(recipe, settings, report, folder.segments(), system)
    (place / CARD).write_text(card, encoding="utf-8")
    say(f"Exported: {place}  ({CARD}: base, data, settings, scores)")
    return Exported(str(place), difference)


@torch.no_grad()
def _merge(settings: LoraSft, adapter: Path, place: Path) -> float:
    from peft import PeftModel

    source = find_model(settings.model, trust_remote_code=settings.trust_remote_code)
    tokenizer = load_tokenizer(source, settings.pad_token)
    ids = torch.tensor([tokenizer("Who has to pay, and how much?")["input_ids"]])
    with without_chatter():
        adapted = PeftModel.from_pretrained(load_model(source), str(adapter)).eval()
    before = adapted(ids).logits
    save_merged(load_model(source), adapter, tokenizer, place)
    after = load_model(find_model(str(place))).eval()(ids).logits
    return float((after - before).abs().max())


def _forget_paths(file: Path) -> None:
    content: Any = msgspec.json.decode(file.read_bytes())
    if isinstance(content, dict) and any(key in content for key in MACHINE_KEYS):
        write_json(file, {key: content[key] for key in content if key not in MACHINE_KEYS})
