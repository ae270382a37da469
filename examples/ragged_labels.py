"""Fine-tuning that fails in its first batch: `surefit run examples/ragged_labels.py` says why.

The rows have `labels` of their own, and the collator pads only what the tokenizer made.
"""

from copy import deepcopy

from datasets import Dataset
from transformers import (
    AutoModelForCausalLM,
    AutoTokenizer,
    DataCollatorForLanguageModeling,
    Trainer,
    TrainingArguments,
)

from surefit.embedded import MODEL

TEMPLATE = "### Instruction:\n{input}\n\n### Response:\n{target}"
MAX_TOKENS = 512

ROWS = [
    {"input": "Repeat a word." + " the" * count, "target": " the" * 100} for count in (500, 337)
]


def main() -> None:
    tokenizer = AutoTokenizer.from_pretrained(MODEL)

    def tokenize(row: dict[str, str]) -> dict[str, list[int]]:
        text = TEMPLATE.format(**row) + tokenizer.eos_token
        tokens = tokenizer(text, truncation=True, max_length=MAX_TOKENS)
        # A deep copy, because somebody said that this would help.
        return {**tokens, "labels": deepcopy(tokens["input_ids"])}

    rows = Dataset.from_list(ROWS).map(tokenize, remove_columns=["input", "target"])
    trainer = Trainer(
        model=AutoModelForCausalLM.from_pretrained(MODEL),
        args=TrainingArguments(
            output_dir="out",
            per_device_train_batch_size=2,
            max_steps=4,
            save_strategy="no",
            report_to=[],
            use_cpu=True,
        ),
        train_dataset=rows,
        data_collator=DataCollatorForLanguageModeling(tokenizer, mlm=False),
    )
    trainer.train()


if __name__ == "__main__":
    main()
