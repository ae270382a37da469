"""Adapters beside heads that are all right: one that was trained before and stays frozen, and one
that is trained and saved by hand."""

import tempfile
from pathlib import Path

import torch
from peft import LoraConfig, get_peft_model
from transformers import BertConfig, BertForSequenceClassification

torch.manual_seed(0)
config = BertConfig(
    vocab_size=60,
    hidden_size=16,
    num_hidden_layers=1,
    num_attention_heads=2,
    intermediate_size=32,
    max_position_embeddings=12,
    num_labels=4,
    hidden_dropout_prob=0.0,
    attention_probs_dropout_prob=0.0,
)
ids = torch.randint(0, 60, (48, 12))
labels = ids[:, 1] % 4


def train(model, epochs=2):
    trainable = [parameter for parameter in model.parameters() if parameter.requires_grad]
    optimizer = torch.optim.AdamW(trainable, lr=1e-2)
    model.train()
    for epoch in range(epochs):
        for begin in range(0, 48, 12):
            rows = slice(begin, begin + 12)
            loss = model(input_ids=ids[rows], labels=labels[rows]).loss
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        print(f"epoch {epoch} loss {loss.item():.3f}")


def adapted(model):
    return get_peft_model(model, LoraConfig(r=4, target_modules=["query", "value"]))


with tempfile.TemporaryDirectory() as folder:
    first = BertForSequenceClassification(config)
    train(first)
    first.save_pretrained(folder)
    train(adapted(BertForSequenceClassification.from_pretrained(folder)))

    by_hand = adapted(BertForSequenceClassification(config))
    by_hand.base_model.model.classifier.requires_grad_(True)
    train(by_hand)
    by_hand.save_pretrained(folder)
    torch.save(by_hand.base_model.model.classifier.state_dict(), Path(folder) / "head.pt")
