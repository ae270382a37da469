"""SFT by TRL on a small random model, with surefit's embedded tokenizer."""

import tempfile

import ending
from datasets import Dataset, disable_progress_bars
from transformers import AutoTokenizer, Qwen3Config, Qwen3ForCausalLM
from trl import SFTConfig, SFTTrainer

from surefit.embedded import MODEL

disable_progress_bars()
ending.seed()
tokenizer = AutoTokenizer.from_pretrained(MODEL)
model = Qwen3ForCausalLM(
    Qwen3Config(
        vocab_size=len(tokenizer),
        hidden_size=16,
        intermediate_size=24,
        num_hidden_layers=1,
        num_attention_heads=2,
        num_key_value_heads=1,
        head_dim=8,
        max_position_embeddings=64,
    )
)
rows = [{"prompt": f"Say {n}.", "completion": f" {n} and {n + 1}."} for n in range(16)]
with tempfile.TemporaryDirectory() as folder:
    trainer = SFTTrainer(
        model,
        SFTConfig(
            folder,
            per_device_train_batch_size=4,
            max_steps=5,
            learning_rate=1e-2,
            logging_steps=1,
            report_to=[],
            disable_tqdm=True,
            save_strategy="no",
            use_cpu=True,
            bf16=False,
            seed=7,
        ),
        train_dataset=Dataset.from_list(rows),
        processing_class=tokenizer,
    )
    trainer.train()
for entry in trainer.state.log_history:
    print({name: value for name, value in entry.items() if name in ("loss", "grad_norm", "step")})
ending.tell(model)
