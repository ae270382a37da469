"""The Trainer of transformers on a small GPT-2, with evaluation, and stopped by a callback.

With an argument the callback ends the whole program with that exit code.
"""

import sys
import tempfile
from typing import Any

import ending
import torch
from transformers import (
    GPT2Config,
    GPT2LMHeadModel,
    Trainer,
    TrainerCallback,
    TrainingArguments,
    default_data_collator,
)

ending.seed()


class Stop(TrainerCallback):
    """After the sixth step."""

    def on_step_end(self, _args: Any, state: Any, control: Any, **_: Any) -> None:
        if state.global_step == 6:
            ending.tell(model)
            if len(sys.argv) > 1:
                sys.exit(int(sys.argv[1]))
            control.should_training_stop = True


model = GPT2LMHeadModel(GPT2Config(vocab_size=64, n_positions=16, n_embd=16, n_layer=2, n_head=2))
ids = torch.randint(64, (40, 12))
rows = [{"input_ids": row, "labels": row} for row in ids]
with tempfile.TemporaryDirectory() as folder:
    trainer = Trainer(
        model,
        TrainingArguments(
            folder,
            per_device_train_batch_size=4,
            gradient_accumulation_steps=2,
            num_train_epochs=3,
            learning_rate=1e-2,
            logging_steps=1,
            report_to=[],
            disable_tqdm=True,
            save_strategy="no",
            use_cpu=True,
            seed=7,
        ),
        train_dataset=rows,
        eval_dataset=rows[:8],
        data_collator=default_data_collator,
        callbacks=[Stop()],
    )
    trainer.train()
    print("evaluated", trainer.evaluate()["eval_loss"])
for entry in trainer.state.log_history:
    print({name: value for name, value in entry.items() if name in ("loss", "grad_norm", "step")})
ending.tell(model)
