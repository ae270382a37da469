"""A small model learns from a larger one; both have a tokenizer of their own."""

import torch
from tokenizers import Tokenizer, models, pre_tokenizers
from torch import nn
from torch.nn import functional as F
from transformers import PreTrainedTokenizerFast

TEXTS = [
    "the river rises in spring and floods the lower field",
    "in spring the field is green and the river is high",
    "a boat lies on the river and a child is in the field",
    "the child counts the boats that pass the lower bridge",
]


def tokenizer_of(words):
    table = {word: number for number, word in enumerate(["<pad>", "<unk>", *words])}
    plain = Tokenizer(models.WordLevel(table, unk_token="<unk>"))
    plain.pre_tokenizer = pre_tokenizers.Whitespace()
    return PreTrainedTokenizerFast(tokenizer_object=plain, pad_token="<pad>", unk_token="<unk>")


def language_model(width, table):
    return nn.Sequential(nn.Embedding(table, width), nn.Linear(width, table))


torch.manual_seed(0)
words = sorted({word for text in TEXTS for word in text.split()})
student_tokenizer = tokenizer_of(words)
teacher_tokenizer = tokenizer_of([*words, "sea", "tide", "shore"])
teacher = language_model(32, len(teacher_tokenizer)).eval()
student = language_model(8, len(student_tokenizer))
optimizer = torch.optim.Adam(student.parameters(), lr=1e-2)
ids = student_tokenizer(TEXTS, padding=True, return_tensors="pt").input_ids

for step in range(20):
    with torch.no_grad():
        wanted = teacher(ids)
    given = student(ids)
    shared = min(given.shape[-1], wanted.shape[-1])
    wanted = wanted[..., :shared]
    loss = F.kl_div(F.log_softmax(given, -1), F.softmax(wanted, -1), reduction="batchmean")
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 5 == 4:
        print(f"step {step + 1}: divergence {loss.item():.4f}")
