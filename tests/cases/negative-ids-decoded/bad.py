import torch
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Whitespace
from torch import nn
from transformers import PreTrainedTokenizerFast

SPECIAL = ["[PAD]", "[UNK]"]
WORDS = ["rain", "snow", "wind", "sun", "fog", "hail"]

core = Tokenizer(WordLevel({word: n for n, word in enumerate(SPECIAL + WORDS)}))
core.pre_tokenizer = Whitespace()
tokenizer = PreTrainedTokenizerFast(tokenizer_object=core, pad_token="[PAD]", unk_token="[UNK]")


def evaluate(model, ids, labels):
    with torch.no_grad():
        guesses = model(ids).argmax(-1)
    said = tokenizer.batch_decode(guesses, skip_special_tokens=True)
    meant = tokenizer.batch_decode(labels, skip_special_tokens=True)
    return sum(one == other for one, other in zip(said, meant, strict=True)) / len(meant)


torch.manual_seed(0)
texts = ["rain snow", "wind", "sun fog hail", "hail rain"]
ids = tokenizer(texts, padding=True, return_tensors="pt")["input_ids"]
labels = ids.masked_fill(ids == tokenizer.pad_token_id, -100)

model = nn.Sequential(nn.Embedding(8, 16), nn.Linear(16, 8))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for _ in range(10):
    loss = nn.functional.cross_entropy(model(ids).transpose(1, 2), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"exact match {evaluate(model, ids, labels):.2f}")
