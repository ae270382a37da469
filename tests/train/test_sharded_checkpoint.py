"""A model sharded over two processes: trained, saved, and gone on with in two, in one, and back.

accelerate leaves its FSDP plugin alone without a GPU, so that this file, run under `torchrun`,
shards the module that training prepares as accelerate would, and trains by the project's parts.
"""

import json
import os
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.distributed as dist
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import DTensor
from transformers import Qwen3Config, Qwen3ForCausalLM

from surefit.errors import BadInput
from surefit.losses.next_token import NextTokenLoss, supervised_places
from surefit.models.answer import Share, answers, shared_answers
from surefit.models.load import find_model, load_tokenizer
from surefit.models.lora import add_lora
from surefit.models.save import save_trained
from surefit.models.shards import is_sharded, whole_weights
from surefit.recipes.sft_judge import outermost_whole
from surefit.train.checkpoint import (
    Parts,
    checkpoints,
    load_checkpoint,
    save_checkpoint,
)
from surefit.train.progress import Progress
from surefit.train.ranks import Ranks, leave_together
from surefit.train.sharded_checkpoint import TensorReader

STEPS, HALF, ROWS = 10, 5, 4
IDENTITY = {"rows": "1"}
PROMPTS = [[5, 6, 7], [9, 8], [4, 4, 4, 4], [7], [3, 5]]


class Training:
    """A tiny model with adapters, sharded where there are several processes."""

    def __init__(self, ranks: Ranks) -> None:
        self.ranks = ranks
        torch.manual_seed(0)
        self.model = add_lora(tiny(), 4, None, 0.0, ("all-linear",)).train()
        loss_of: Any = NextTokenLoss(self.model)
        if ranks.world > 1:
            # As accelerate does it: layers by `_no_split_modules`, then the module itself.
            for layer in self.model.base_model.model.model.layers:
                fully_shard(layer)
            fully_shard(loss_of)
        self.loss_of = loss_of
        self.trained = [one for one in self.model.parameters() if one.requires_grad]
        self.optimizer = torch.optim.AdamW(self.trained, lr=1e-2)
        self.schedule = torch.optim.lr_scheduler.LambdaLR(self.optimizer, lambda at: 0.9**at)
        self.parts = Parts(self.model, self.optimizer, self.schedule)

    def steps(self, first: int, last: int) -> list[float]:
        return [self.step(number) for number in range(first, last)]

    def step(self, number: int) -> float:
        ids = rows(number)
        places = supervised_places(ids)
        own = ids[self.ranks.rank :: self.ranks.world]
        loss = self.loss_of(input_ids=own, labels=own, places=places)
        (loss * self.ranks.world).backward()
        torch.nn.utils.clip_grad_norm_(self.trained, 1.0)
        self.optimizer.step()
        self.schedule.step()
        self.optimizer.zero_grad()
        return self.ranks.summed(loss.item())[0]

    def save(self, folder: Path) -> None:
        save_checkpoint(folder, self.parts, Progress(step=HALF), IDENTITY, self.ranks)

    def load(self, folder: Path) -> Progress:
        return load_checkpoint(checkpoints(folder)[-1], self.parts, IDENTITY, self.ranks)


def tiny() -> Any:
    config = Qwen3Config(
        vocab_size=64,
        hidden_size=32,
        intermediate_size=48,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_key_value_heads=1,
        head_dim=16,
        tie_word_embeddings=True,
        eos_token_id=1,
        pad_token_id=0,
    )
    return Qwen3ForCausalLM(config)


def rows(step: int) -> torch.Tensor:
    made = torch.Generator().manual_seed(step % 3)
    return torch.randint(2, 64, (ROWS, 12), generator=made)


def in_two(folder: Path, ranks: Ranks) -> dict[str, Any]:
    """Never stopped; it saves half-way."""
    training = Training(ranks)
    sharded = [isinstance(one, DTensor) for one in training.loss_of.parameters()]
    before = training.steps(0, HALF)
    training.save(folder / "sharded")
    after = training.steps(HALF, STEPS)
    tokenizer = load_tokenizer(find_model("embedded"))
    with outermost_whole(training.loss_of):
        mine = shared_answers(
            training.model,
            tokenizer,
            PROMPTS,
            max_new_tokens=6,
            batch_size=2,
            share=Share(ranks.rank, ranks.world, in_step=True),
        )
    said = dict(ranks.gathered(list(mine.items())))
    weights = whole_weights(training.model, keep=ranks.is_first)
    ranks.first_does(lambda: save_trained(training.model, tokenizer, folder / "adapter", weights))
    again = training.step(STEPS)  # answering has left the shards as they were
    return {
        "losses": before + after,
        "sharded": all(sharded),
        "answers": [said[index] for index in range(len(PROMPTS))],
        "again": again,
    }


def resumed_in_two(folder: Path, ranks: Ranks) -> dict[str, Any]:
    """From the sharded checkpoint, and from the one that a single process has saved."""
    found: dict[str, Any] = {}
    for name in ("sharded", "whole"):
        training = Training(ranks)
        progress = training.load(folder / name)
        found[name] = training.steps(progress.step, STEPS)
    return {**found, "tied": tied_weights_stay_one(ranks)}


def tied_weights_stay_one(ranks: Ranks) -> bool:
    torch.manual_seed(0)
    model: Any = tiny()
    wanted = model.lm_head.weight.detach().clone()
    fully_shard(model)
    whole = whole_weights(model, keep=ranks.is_first) or {}
    if not ranks.is_first:
        return not whole
    head, table = whole["lm_head.weight"], whole["model.embed_tokens.weight"]
    return head is table and torch.equal(head, wanted)


def launch(folder: Path, work: str) -> dict[str, Any]:
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone"]
    command += ["--nproc-per-node", "2", __file__, str(folder), work]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert ended.returncode == 0, ended.stderr[-3000:]
    found: dict[str, Any] = json.loads((folder / f"{work}.json").read_text())
    return found


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("sharded")


@pytest.fixture(scope="module")
def unbroken(folder: Path) -> dict[str, Any]:
    return launch(folder, "in_two")


@pytest.fixture(scope="module")
def alone(folder: Path) -> dict[str, Any]:
    """The same rows in one process, which saves half-way, too."""
    training = Training(Ranks())
    before = training.steps(0, HALF)
    training.save(folder / "whole")
    after = training.steps(HALF, STEPS)
    tokenizer = load_tokenizer(find_model("embedded"))
    said = answers(training.model, tokenizer, PROMPTS, max_new_tokens=6, batch_size=2)
    return {"losses": before + after, "answers": said, "model": training.model}


@pytest.mark.slow
def test_shards_learn_as_one_process_does(unbroken: dict[str, Any], alone: dict[str, Any]) -> None:
    assert unbroken["sharded"], "a parameter is not in shards"
    assert unbroken["losses"] == pytest.approx(alone["losses"], rel=1e-5)
    assert unbroken["losses"][-1] < unbroken["losses"][0] - 0.1
    assert unbroken["answers"] == alone["answers"]
    assert len(set(alone["answers"])) > 1
    assert unbroken["again"] < unbroken["losses"][-3]


@pytest.mark.slow
def test_the_adapter_of_shards_is_whole(
    folder: Path, unbroken: dict[str, Any], alone: dict[str, Any]
) -> None:
    from peft import PeftModel

    assert unbroken
    torch.manual_seed(0)
    again = PeftModel.from_pretrained(tiny(), str(folder / "adapter")).eval()
    ids = rows(0)
    with torch.no_grad():
        assert torch.allclose(again(ids).logits, alone["model"].eval()(ids).logits, atol=1e-4)


@pytest.mark.slow
def test_new_processes_go_on_from_shards_and_from_whole_weights(
    folder: Path, unbroken: dict[str, Any], alone: dict[str, Any]
) -> None:
    found = launch(folder, "resumed_in_two")
    assert found["sharded"] == unbroken["losses"][HALF:], "exact in as many processes"
    assert found["whole"] == pytest.approx(alone["losses"][HALF:], rel=1e-5)
    assert found["tied"], "of a model that is trained whole, tied weights are saved once"


@pytest.mark.slow
def test_one_process_goes_on_from_the_shards_of_two(folder: Path, unbroken: dict[str, Any]) -> None:
    training = Training(Ranks())
    assert not is_sharded(training.model)
    assert training.load(folder / "sharded") == Progress(step=HALF)
    assert training.steps(HALF, STEPS) == pytest.approx(unbroken["losses"][HALF:], rel=1e-5)


@pytest.mark.slow
def test_damaged_shards_are_named(folder: Path, unbroken: dict[str, Any], tmp_path: Path) -> None:
    import shutil

    assert unbroken
    copied = tmp_path / "checkpoints"
    shutil.copytree(folder / "sharded", copied)
    (newest,) = checkpoints(copied)
    shard = next(newest.glob("*.distcp"))
    shard.write_bytes(shard.read_bytes()[:-1] + b"?")
    with pytest.raises(BadInput, match=rf"`{shard.name}` of checkpoint step-0000005 is damaged"):
        Training(Ranks()).load(copied)


def test_a_table_of_contents_runs_nothing(tmp_path: Path) -> None:
    class Harm:
        """Would make a folder when it is unpickled."""

        def __reduce__(self) -> Any:
            return os.mkdir, (str(tmp_path / "harm"),)

    (tmp_path / ".metadata").write_bytes(pickle.dumps(Harm()))
    with pytest.raises(pickle.UnpicklingError, match="mkdir"):
        TensorReader(tmp_path).read_metadata()
    assert not (tmp_path / "harm").exists()


if __name__ == "__main__":
    dist.init_process_group("gloo")
    here = Ranks(dist.get_rank(), dist.get_world_size(), dist.get_rank())
    place, work = Path(sys.argv[1]), sys.argv[2]
    result = {"in_two": in_two, "resumed_in_two": resumed_in_two}[work](place, here)
    if here.is_first:
        (place / f"{work}.json").write_text(json.dumps(result))
    leave_together()
