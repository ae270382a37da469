"""Trainings watched inside one process, by every way that surefit offers; prints what came of it.

A process of its own, because watching patches torch for as long as the process lives.
"""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from lightning import pytorch as lightning
from torch import nn
from torch.nn import functional
from torch.utils.data import DataLoader, TensorDataset
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainingArguments

import surefit
from surefit.watching import StoppedByFinding

RESULTS: dict[str, Any] = {}


def rows(count: int = 64) -> TensorDataset:
    torch.manual_seed(1)
    features = torch.randn(count, 4)
    return TensorDataset(features, (features.sum(1) > 0).long())


def train(replace_head: bool = False, look: Callable[[], object] = lambda: None) -> list[float]:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    if replace_head:
        model[2] = nn.Linear(8, 2)
    losses = []
    for _ in range(3):
        for features, labels in DataLoader(rows(), batch_size=8):
            optimizer.zero_grad()
            loss = functional.cross_entropy(model(features), labels)
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        look()
    return losses


def plain_loops() -> None:
    alone = train()
    with surefit.watch() as healthy:
        watched = train()
    RESULTS["same losses"] = alone == watched
    RESULTS["healthy"] = [finding.rule for finding in healthy.findings]
    for name in ("faulty", "faulty again"):
        with surefit.watch(quiet=True) as faulty:
            train(replace_head=True)
        RESULTS[name] = [
            (finding.rule, finding.fixes[0].proof and finding.fixes[0].proof.status)
            for finding in faulty.findings
        ]
    try:
        with surefit.watch(stop_on="error", quiet=True) as stopping:
            train(replace_head=True, look=stopping.look)
            RESULTS["stopped"] = "no"
    except StoppedByFinding as stop:
        RESULTS["stopped"] = [finding.rule for finding in stop.findings]
    RESULTS["after watching"] = alone == train()


def preflight() -> None:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.Dropout(0.5), nn.Linear(8, 2))
    model.eval()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
    before = {name: value.clone() for name, value in model.state_dict().items()}
    loader = DataLoader(rows(), batch_size=8)
    stream = torch.get_rng_state()
    findings = surefit.check(model, loader, nn.CrossEntropyLoss(), optimizer)
    same = all(torch.equal(value, before[name]) for name, value in model.state_dict().items())
    RESULTS["check finds"] = [finding.rule for finding in findings]
    RESULTS["check undoes"] = [
        same,
        model.training is False,
        not optimizer.state_dict()["state"],
        all(parameter.grad is None for parameter in model.parameters()),
        torch.equal(stream, torch.get_rng_state()),
    ]
    try:
        surefit.check(model, [torch.ones(2)], nn.CrossEntropyLoss(), optimizer)
    except TypeError as error:
        RESULTS["check refuses"] = str(error)


def hugging_face(folder: Path) -> None:
    torch.manual_seed(0)
    config = GPT2Config(n_layer=1, n_head=2, n_embd=16, vocab_size=32, n_positions=16)
    model = GPT2LMHeadModel(config)
    data = [{"input_ids": ids, "labels": ids} for ids in torch.randint(0, 32, (16, 12))]
    watching = surefit.Watch(quiet=True)
    trainer = Trainer(
        model=model,
        args=TrainingArguments(
            output_dir=str(folder), num_train_epochs=2, report_to=[], save_strategy="no",
            disable_tqdm=True, use_cpu=True, dataloader_pin_memory=False,
        ),
        train_dataset=data,
        callbacks=[watching],
    )  # fmt: skip
    trainer.train()
    RESULTS["trainer"] = [finding.rule for finding in watching.findings]
    RESULTS["trainer laws"] = len(watching.laws)


class Classifier(lightning.LightningModule):  # type: ignore[misc]
    """The least that Lightning trains."""

    def __init__(self) -> None:
        super().__init__()
        self.net = nn.Linear(4, 2)

    def training_step(self, batch: Any, _index: int) -> torch.Tensor:
        return functional.cross_entropy(self.net(batch[0]), batch[1])

    def validation_step(self, batch: Any, _index: int) -> None:
        self.log("val_loss", functional.cross_entropy(self.net(batch[0]), batch[1]))

    def configure_optimizers(self) -> torch.optim.Optimizer:
        return torch.optim.SGD(self.parameters(), lr=0.1)


def with_lightning() -> None:
    watching = surefit.Watch(quiet=True)
    trainer = lightning.Trainer(
        max_epochs=2, callbacks=[watching], logger=False, enable_checkpointing=False,
        enable_progress_bar=False, enable_model_summary=False, accelerator="cpu",
    )  # fmt: skip
    torch.manual_seed(2)
    held_out = TensorDataset(torch.randn(16, 4), torch.randint(0, 2, (16,)))
    trainer.fit(
        Classifier(),
        DataLoader(rows(), batch_size=8, shuffle=True),
        DataLoader(held_out, batch_size=8),
    )
    RESULTS["lightning"] = [finding.rule for finding in watching.findings]
    RESULTS["lightning laws"] = len(watching.laws)


if __name__ == "__main__":
    torch.set_num_threads(1)
    plain_loops()
    preflight()
    hugging_face(Path(sys.argv[1]))
    with_lightning()
    print(json.dumps(RESULTS))
