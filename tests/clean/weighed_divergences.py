"""Divergences in the other direction, with weights of their own, and as the whole loss."""

import torch
import torch.nn.functional as F
from torch import nn

CLASSES, TEMPERATURE = 10, 4.0


def reverse(student, teacher, _labels):
    given, wanted = F.log_softmax(teacher, -1), F.log_softmax(student, -1)
    return F.kl_div(given, wanted, reduction="batchmean", log_target=True)


def reverse_of_probabilities(student, teacher, labels):
    given, wanted = F.log_softmax(teacher, -1), F.softmax(student, -1)
    return F.cross_entropy(student, labels) + F.kl_div(given, wanted, reduction="batchmean")


def between_both(student, teacher, labels):
    one, other = F.softmax(student, -1), F.softmax(teacher, -1)
    middle = ((one + other) / 2).log()
    halves = [F.kl_div(middle, side, reduction="batchmean") / 2 for side in (one, other)]
    return F.cross_entropy(student, labels) + sum(halves)


def whole(student, teacher, _labels):
    given = F.log_softmax(student / TEMPERATURE, -1)
    return F.kl_div(given, F.softmax(teacher / TEMPERATURE, -1), reduction="batchmean")


def tuned(student, teacher, labels):
    return F.cross_entropy(student, labels) + 2.5 * whole(student, teacher, labels)


def times_the_classes(student, teacher, labels):
    given, wanted = F.log_softmax(student, -1), F.softmax(teacher, -1)
    soft = F.kl_div(given, wanted, reduction="mean") * CLASSES
    return 0.5 * F.cross_entropy(student, labels) + 0.5 * soft


def without_temperature(student, teacher, labels):
    given, wanted = F.log_softmax(student / 1.0, -1), F.softmax(teacher / 1.0, -1)
    soft = F.kl_div(given, wanted, reduction="batchmean")
    return 0.5 * F.cross_entropy(student, labels) + 0.5 * soft


def squared_elsewhere(student, teacher, labels):
    soft = whole(student, teacher, labels)
    loss = F.cross_entropy(student, labels) / TEMPERATURE**2 + soft
    return TEMPERATURE**2 * loss


def of_logits(student, teacher, labels):
    return 0.5 * F.cross_entropy(student, labels) + 0.5 * F.mse_loss(student, teacher)


def of_the_best(student, teacher, labels):
    best = teacher.topk(4).indices
    given, wanted = (
        F.log_softmax(student, -1).gather(1, best),
        F.softmax(teacher, -1).gather(1, best),
    )
    soft = F.kl_div(given, wanted, reduction="sum") / len(labels)
    return 0.5 * F.cross_entropy(student, labels) + 0.5 * soft


WAYS = (
    *(reverse, reverse_of_probabilities, between_both, whole, tuned, times_the_classes),
    *(without_temperature, squared_elsewhere, of_logits, of_the_best),
)

torch.manual_seed(0)
teacher = nn.Sequential(nn.Linear(16, 64), nn.ReLU(), nn.Linear(64, CLASSES)).eval()
student = nn.Sequential(nn.Linear(16, 8), nn.ReLU(), nn.Linear(8, CLASSES))
optimizer = torch.optim.AdamW(student.parameters(), lr=1e-2)
for way in WAYS:
    for _ in range(5):
        points = torch.randn(32, 16)
        with torch.no_grad():
            wanted = teacher(points)
        loss = way(student(points), wanted, wanted.argmax(-1))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"{way.__name__} {loss.item():.4f}")
