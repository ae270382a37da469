"""Distils one table of next tokens into a smaller one, and learns from the text as well."""

import torch
import torch.nn.functional as F
from torch import nn

VOCABULARY, ALPHA, TEMPERATURE = 120, 0.7, 2.0


def language_model(width):
    return nn.Sequential(nn.Embedding(VOCABULARY, width), nn.Linear(width, VOCABULARY))


def loss_of(student, teacher, following):
    student, teacher = student.view(-1, VOCABULARY), teacher.view(-1, VOCABULARY)
    hard = F.cross_entropy(student, following.reshape(-1))
    soft = F.kl_div(
        F.log_softmax(student / TEMPERATURE, dim=-1),
        F.softmax(teacher / TEMPERATURE, dim=-1),
    )
    return (1 - ALPHA) * hard + ALPHA * TEMPERATURE**2 * soft


def main():
    torch.manual_seed(0)
    teacher, student = language_model(64).eval(), language_model(8)
    optimizer = torch.optim.AdamW(student.parameters(), lr=1e-2)
    for _ in range(20):
        tokens = torch.randint(0, VOCABULARY, (4, 17))
        with torch.no_grad():
            wanted = teacher(tokens[:, :-1])
        loss = loss_of(student(tokens[:, :-1]), wanted, tokens[:, 1:])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"loss {loss.item():.3f}")


main()
