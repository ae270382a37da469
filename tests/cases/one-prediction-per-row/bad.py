"""Tags for every token, and a model that classifies whole sentences."""

import torch
from transformers import BertConfig, BertForSequenceClassification

torch.manual_seed(0)
config = BertConfig(
    vocab_size=60,
    hidden_size=32,
    num_hidden_layers=1,
    num_attention_heads=2,
    intermediate_size=64,
    num_labels=5,
)
model = BertForSequenceClassification(config)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
for _step in range(4):
    words = torch.randint(0, 60, (8, 12))
    tags = words % 5
    loss = model(input_ids=words, labels=tags).loss
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print("done", float(loss))
