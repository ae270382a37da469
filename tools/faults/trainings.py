"""The tiny runs that are harmed: a recipe, its rows and its flags."""

from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import numpy as np

from surefit import embedded

TINY_ROWS, TINY_TEXTS, TINY_ARRAYS = 32, 24, 96
ROWS_PER_STEP = 4


@dataclass(frozen=True, slots=True)
class Training:
    """One recipe with its settings; processes share the rows of a step."""

    recipe: str
    flags: tuple[str, ...]
    dropout: str
    """Its flag: dropped places are each process's own, so that several processes have none."""

    def started(self, out: Path, processes: int = 1) -> list[str]:
        """The words of the command."""
        rows = f"--batch-size={ROWS_PER_STEP // processes}"
        dropout = [self.dropout] if self.dropout and processes == 1 else []
        return [self.recipe, *self.flags, *dropout, rows, f"--out={out}", "--quiet"]

    def without_dropout(self, out: Path) -> list[str]:
        return [word for word in self.started(out) if word != self.dropout]

    def resumed(self, out: Path) -> list[str]:
        return [self.recipe, f"--resume={out}", "--quiet"]


def tiny_trainings(place: Path) -> dict[str, Training]:
    """Writes the rows; steps are few, so that most of a run is reading, evaluating and saving."""
    rows, texts, arrays = place / "rows.jsonl", place / "texts.txt", place / "arrays"
    with embedded.ROWS.open(encoding="utf-8") as source:
        rows.write_text("".join(islice(source, TINY_ROWS)), encoding="utf-8")
    paragraphs = embedded.TEXT.read_text(encoding="utf-8").split("\n\n")
    texts.write_text("\n\n".join(paragraphs[:TINY_TEXTS]), encoding="utf-8")
    arrays.mkdir()
    np.save(arrays / "part-0.npy", _one_hot(TINY_ARRAYS, steps=6, features=9))
    every = ("--save-every=3", "--threads=1")
    sft = ("--epochs=3", "--held-out=0.125", "--lora-r=2", "--max-new-tokens=4")
    shape = ("--steps=6", "--features=9")
    model = ("--hidden-size=16", "--layers=1", "--heads=2")
    pretrain = ("--epochs=2", "--held-out=0.46", *shape, *model)
    student = ("--steps=16", "--evaluate-every=5", "--max-tokens=32", "--learning-rate=1e-3")
    return {
        "sft": Training("sft", (f"--data={rows}", *sft, *every), "--lora-dropout=0.1"),
        "pretrain": Training("pretrain", (f"--data={arrays}", *pretrain, *every), "--dropout=0.1"),
        "distill": Training("distill", (f"--data={texts}", *student, *every), ""),
    }


def _one_hot(
    rows: int, steps: int, features: int
) -> "np.ndarray[tuple[int, ...], np.dtype[np.float32]]":
    ids = np.random.default_rng(0).integers(0, features, (rows, steps, 1))
    arrays = np.zeros((rows, steps, features), np.float32)
    np.put_along_axis(arrays, ids, 1, axis=2)
    return arrays
