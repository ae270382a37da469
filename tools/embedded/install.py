"""Puts a trained model into the package: bfloat16 weights, greedy generation, tokenizer."""

import argparse
import json
from pathlib import Path

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer, GenerationConfig

from .start import THETA


def install(trained: Path, folder: Path) -> None:
    model = AutoModelForCausalLM.from_pretrained(trained, dtype=torch.bfloat16)
    tokenizer = AutoTokenizer.from_pretrained(trained)
    model.generation_config = GenerationConfig(
        do_sample=False,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
        max_new_tokens=24,
    )
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    # transformers 4 reads these older names; version 5 reads both
    _amend(folder / "config.json", {"rope_theta": THETA})
    _amend(folder / "tokenizer_config.json", {"tokenizer_class": "PreTrainedTokenizerFast"})
    for file in folder.iterdir():
        file.chmod(0o644)


def _amend(path: Path, entries: dict[str, object]) -> None:
    kept = json.loads(path.read_text(encoding="utf-8")) | entries
    for unneeded in ("is_local", "local_files_only", "backend"):
        kept.pop(unneeded, None)
    path.write_text(json.dumps(kept, indent=2) + "\n", encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("trained", type=Path, help="folder that pretraining wrote")
    parser.add_argument("folder", type=Path, help="folder in the package")
    asked = parser.parse_args()
    install(asked.trained, asked.folder)


if __name__ == "__main__":
    main()
