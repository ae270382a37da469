"""Writes sentences of a few words, each with an end."""

import random

import torch
from tokenizers import Tokenizer, models, pre_tokenizers
from torch.utils.data import DataLoader
from transformers import (
    DataCollatorForLanguageModeling,
    GPT2Config,
    GPT2LMHeadModel,
    PreTrainedTokenizerFast,
)

WORDS = ["[PAD]", "[UNK]", "[EOS]", *(f"word{number}" for number in range(40))]


def word_tokenizer():
    words = models.WordLevel({word: number for number, word in enumerate(WORDS)}, "[UNK]")
    tokenizer = Tokenizer(words)
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, unk_token="[UNK]", eos_token="[EOS]")


def main():
    torch.manual_seed(0)
    random.seed(0)
    tokenizer = word_tokenizer()
    tokenizer.pad_token = tokenizer.eos_token
    rows = []
    for _ in range(120):
        words = random.choices(WORDS[3:], k=random.randint(3, 9))
        rows.append(tokenizer(" ".join([*words, tokenizer.eos_token])))
    model = GPT2LMHeadModel(
        GPT2Config(
            vocab_size=len(WORDS),
            n_positions=32,
            n_embd=32,
            n_layer=1,
            n_head=2,
            bos_token_id=2,
            eos_token_id=2,
        )
    )
    collate = DataCollatorForLanguageModeling(tokenizer, mlm=False)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    for _ in range(2):
        for batch in DataLoader(rows, batch_size=12, shuffle=True, collate_fn=collate):
            loss = model(**batch).loss
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    print(f"loss {loss.item():.3f}")
    prompt = tokenizer(WORDS[3], return_tensors="pt")
    written = model.generate(**prompt, max_new_tokens=12, do_sample=False)
    print(f"{written.shape[1] - 1} tokens written")


main()
