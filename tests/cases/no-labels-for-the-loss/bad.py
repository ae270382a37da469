"""Trains a small language model on a few sentences."""

from datasets import Dataset
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import (
    DataCollatorWithPadding,
    GPT2Config,
    GPT2LMHeadModel,
    PreTrainedTokenizerFast,
    Trainer,
    TrainingArguments,
)

SENTENCES = ["the cat sat", "the dog ran to the cat", "a cat ran", "a dog sat by the door"] * 8
WORDS = ["<pad>", "<unk>", *sorted({word for line in SENTENCES for word in line.split()})]

words = Tokenizer(models.WordLevel({word: at for at, word in enumerate(WORDS)}, unk_token="<unk>"))
words.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
tokenizer = PreTrainedTokenizerFast(tokenizer_object=words, pad_token="<pad>", unk_token="<unk>")

rows = Dataset.from_dict({"text": SENTENCES})
rows = rows.map(lambda batch: tokenizer(batch["text"]), batched=True, remove_columns=["text"])

sizes = {"n_positions": 16, "n_embd": 16, "n_layer": 1, "n_head": 2}
ends = {"bos_token_id": None, "eos_token_id": None}
trainer = Trainer(
    model=GPT2LMHeadModel(GPT2Config(vocab_size=len(tokenizer), **sizes, **ends)),
    args=TrainingArguments(
        output_dir="out",
        max_steps=4,
        report_to=[],
        save_strategy="no",
        use_cpu=True,
        disable_tqdm=True,
    ),
    train_dataset=rows,
    data_collator=DataCollatorWithPadding(tokenizer),
)
trainer.train()
