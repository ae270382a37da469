"""The collator and the callback inside the real Hugging Face Trainer."""

import json
from itertools import islice
from pathlib import Path

import pytest
import torch
from transformers import Trainer, TrainingArguments

import surefit
from surefit import embedded
from surefit.models.load import find_model, load_model, load_tokenizer
from surefit.trainer import training_rows


def rows(first: int, last: int) -> list[dict[str, str]]:
    with embedded.ROWS.open() as source:
        return [json.loads(line) for line in islice(source, first, last)]


def test_collator_and_callback_work_in_the_trainer(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = find_model("embedded")
    tokenizer, model = load_tokenizer(source), load_model(source)
    callback = surefit.AnswerF1(tokenizer, rows(0, 6), max_new_tokens=6, batch_size=3)
    before = model.lm_head.weight.detach().clone()
    trainer = Trainer(
        model=model,
        args=TrainingArguments(
            output_dir=str(tmp_path),
            num_train_epochs=2,
            per_device_train_batch_size=4,
            learning_rate=1e-3,
            report_to=[],
            save_strategy="no",
            logging_steps=1,
            disable_tqdm=True,
            use_cpu=True,
            dataloader_pin_memory=False,
        ),
        train_dataset=training_rows(tokenizer, rows(6, 18)),
        data_collator=surefit.PadRows(tokenizer),
        callbacks=[callback],
    )
    trainer.train()

    printed = capsys.readouterr().out
    assert [found.score.rows for found in callback.scores] == [6, 6]
    for epoch, found in enumerate(callback.scores, start=1):
        assert f"Epoch {epoch}: Average F1 Score = {found.score.f1:.4f}" in printed
    logged = [entry["eval_f1"] for entry in trainer.state.log_history if "eval_f1" in entry]
    assert logged == [found.score.f1 for found in callback.scores]
    assert not torch.equal(before, model.lm_head.weight)
    assert model.training


def test_rows_for_the_trainer_supervise_the_target_and_eos_alone() -> None:
    tokenizer = load_tokenizer(find_model("embedded"))
    (row,) = training_rows(tokenizer, [{"input": "Who pays?", "target": "Ann"}])
    supervised = [label for label in row["labels"] if label != -100]
    assert tokenizer.decode(supervised) == f" Ann{tokenizer.eos_token}"
    assert supervised[-1] == tokenizer.eos_token_id


def test_a_row_that_does_not_fit_is_refused() -> None:
    tokenizer = load_tokenizer(find_model("embedded"))
    long = [{"input": "Who?", "target": "word " * 50}]
    with pytest.raises(surefit.SurefitError, match="within 16 tokens"):
        surefit.AnswerF1(tokenizer, long, max_tokens=16)
