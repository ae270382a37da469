"""Padded places are left out of every term, each time in another way; T² is in each."""

import torch
import torch.nn.functional as F
from torch import nn

VOCABULARY, PADDING, TEMPERATURE, ALPHA = 40, 0, 3.0, 0.4


def batch():
    rows = [torch.randint(1, VOCABULARY, (int(torch.randint(4, 15, ())),)) for _ in range(8)]
    return nn.utils.rnn.pad_sequence(rows, batch_first=True, padding_value=PADDING)


def softened(logits):
    return F.log_softmax(logits / TEMPERATURE, dim=-1)


def by_product(student, teacher, mask):
    each = F.kl_div(softened(student), softened(teacher).exp(), reduction="none").sum(-1)
    return (each * mask).sum() / mask.sum()


def by_index(student, teacher, mask):
    real = mask.bool()
    given, wanted = softened(student[real]), softened(teacher[real])
    return F.kl_div(given, wanted, reduction="batchmean", log_target=True)


def by_fill(student, teacher, mask):
    each = F.kl_div(softened(student), softened(teacher).exp(), reduction="none")
    return each.masked_fill(mask[..., None] == 0, 0.0).sum() / mask.sum()


def by_blank_sides(student, teacher, mask):
    weight = mask.unsqueeze(-1)
    given, wanted = softened(student) * weight, softened(teacher).exp() * weight
    return nn.KLDivLoss(reduction="sum")(given, wanted) / mask.sum()


def by_row(student, teacher, mask):
    each = F.kl_div(softened(student), softened(teacher).exp(), reduction="none").sum(-1)
    return ((each * mask).sum(1) / mask.sum(1)).mean()


def by_choice(student, teacher, mask):
    each = F.kl_div(softened(student), softened(teacher).exp(), reduction="none").sum(-1)
    return torch.where(mask.bool(), each, 0.0).sum() / mask.sum()


def by_hand(student, teacher, mask):
    wanted = softened(teacher)
    each = (wanted.exp() * (wanted - softened(student))).sum(-1)
    return each[mask.bool()].mean()


torch.manual_seed(0)
teacher = nn.Sequential(nn.Embedding(VOCABULARY, 32), nn.Linear(32, VOCABULARY)).eval()
student = nn.Sequential(nn.Embedding(VOCABULARY, 8), nn.Linear(8, VOCABULARY))
optimizer = torch.optim.AdamW(student.parameters(), lr=1e-2)
for soft in (by_product, by_index, by_fill, by_blank_sides, by_row, by_choice, by_hand):
    for _ in range(4):
        ids = batch()
        mask = (ids != PADDING).long()
        logits = student(ids)
        with torch.no_grad():
            wanted = teacher(ids)
        labels = ids.masked_fill(mask == 0, -100)[:, 1:]
        hard = F.cross_entropy(logits[:, :-1].transpose(1, 2), labels)
        loss = (1 - ALPHA) * hard + ALPHA * soft(logits, wanted, mask) * TEMPERATURE**2
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"{soft.__name__} {loss.item():.4f}")
