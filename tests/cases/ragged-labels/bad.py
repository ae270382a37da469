"""Fine-tunes on instructions; `labels` are a copy of `input_ids`, made in the way that is asked."""

import copy
import json
import sys

import numpy as np
import torch
from torch.utils.data import DataLoader
from transformers import AutoModelForCausalLM, AutoTokenizer, DataCollatorForLanguageModeling

from surefit.embedded import MODEL

COPIES = {
    "slice": lambda ids: ids[:],
    "shallow-copy": copy.copy,
    "comprehension": lambda ids: [token for token in ids],  # noqa: C416
    "deepcopy": copy.deepcopy,
    "list": list,
    "numpy": lambda ids: np.array(ids).tolist(),
    "json": lambda ids: json.loads(json.dumps(ids)),
    "plain-dict": lambda ids: ids[:],
}
cure = sys.argv[1] if len(sys.argv) > 1 else "slice"

tokenizer = AutoTokenizer.from_pretrained(MODEL)


def tokenize(text):
    row = tokenizer(text, truncation=True, max_length=512)
    if cure == "plain-dict":
        row = dict(row)
    row["labels"] = COPIES[cure](row["input_ids"])
    return row


rows = [tokenize(" the" * words) for words in (600, 468, 233, 512)]
collate = DataCollatorForLanguageModeling(tokenizer, mlm=False)
loader = DataLoader(rows, batch_size=4, collate_fn=collate)

torch.manual_seed(0)
model = AutoModelForCausalLM.from_pretrained(MODEL, dtype=torch.float32)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
for _epoch in range(2):
    for batch in loader:
        loss = model(**batch).loss
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        print(f"loss {loss.item():.4f}")
