"""A teacher that is an attribute of a Trainer, whose `compute_loss` asks it."""

from pathlib import Path
from textwrap import dedent

import pytest

from running import forked_run

SCRIPT = """
    import torch
    from torch.nn import functional as F
    from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainingArguments

    SOFT = True

    class Distillation(Trainer):
        def __init__(self, *args, teacher=None, soft=False, **kwargs):
            super().__init__(*args, **kwargs)
            self.teacher, self.soft = teacher, soft

        def compute_loss(self, model, inputs, return_outputs=False, **kwargs):
            outputs = model(**inputs)
            kd = torch.zeros(())
            if self.soft:
                with torch.no_grad():
                    wanted = self.teacher(**inputs).logits
                logs = F.log_softmax(outputs.logits, -1)
                kd = F.kl_div(logs, F.softmax(wanted, -1), reduction="batchmean")
            loss = 0.5 * outputs.loss + 0.5 * kd
            return (loss, outputs) if return_outputs else loss

    class Rows(torch.utils.data.Dataset):
        def __len__(self):
            return 24

        def __getitem__(self, index):
            ids = (torch.arange(8) * (index + 1)) % 32
            return {"input_ids": ids, "labels": ids}

    def model(layers):
        sizes = dict(n_head=2, n_embd=8, n_positions=8, vocab_size=32)
        tokens = dict(bos_token_id=0, eos_token_id=0)
        return GPT2LMHeadModel(GPT2Config(n_layer=layers, **sizes, **tokens))

    torch.manual_seed(0)
    teacher = model(2)
    settings = TrainingArguments(
        "out", per_device_train_batch_size=4, max_steps=5, report_to=[], use_cpu=True,
        save_strategy="no", disable_tqdm=True)
    trainer = Distillation(
        model=model(1), args=settings, train_dataset=Rows(), teacher=teacher, soft=SOFT)
    trainer.train()
"""


def rules(text: str, folder: Path) -> list[str]:
    (folder / "train.py").write_text(dedent(text).lstrip("\n"), encoding="utf-8")
    ran = forked_run(["train.py"], folder, ["--no-proof"])
    assert ran.document["ended"]["exception"] is None, ran.err
    return ran.rules()


@pytest.mark.slow
def test_one_in_training_mode_is_named(tmp_path: Path) -> None:
    assert rules(SCRIPT, tmp_path) == ["teacher-in-training-mode"]


@pytest.mark.slow
def test_one_that_is_left_out_is_named(tmp_path: Path) -> None:
    text = SCRIPT.replace("SOFT = True", "SOFT = False")
    assert rules(text, tmp_path) == ["teacher-never-run"]


@pytest.mark.slow
def test_one_that_is_asked_as_it_should_be_gets_no_word(tmp_path: Path) -> None:
    text = SCRIPT.replace("teacher = model(2)", "teacher = model(2).eval()")
    assert rules(text, tmp_path) == []
