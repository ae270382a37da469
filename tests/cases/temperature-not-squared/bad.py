"""Distils a classifier of points, half from labels and half from a teacher."""

import torch
import torch.nn.functional as F
from torch import nn

CLASSES = 10


def network(width):
    return nn.Sequential(nn.Linear(20, width), nn.Tanh(), nn.Linear(width, CLASSES))


def distillation_loss(student, teacher, labels, temperature=4.0, alpha=0.5):
    soft = F.kl_div(
        F.log_softmax(student / temperature, dim=1),
        F.softmax(teacher / temperature, dim=1),
        reduction="batchmean",
    )
    hard = F.cross_entropy(student, labels)
    return alpha * soft + (1 - alpha) * hard


def main():
    torch.manual_seed(0)
    points = torch.randn(512, 20)
    labels = (points[:, 0] * 5).long().clamp(0, CLASSES - 1)
    teacher, student = network(64).eval(), network(8)
    optimizer = torch.optim.SGD(student.parameters(), lr=0.1, momentum=0.9)
    for _ in range(4):
        for rows in torch.randperm(512).split(64):
            with torch.no_grad():
                wanted = teacher(points[rows])
            loss = distillation_loss(student(points[rows]), wanted, labels[rows])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    print(f"loss {loss.item():.3f}")


main()
