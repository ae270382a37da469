"""Distils a wide classifier of points into a narrow one."""

import torch
import torch.nn.functional as F
from torch import nn

CLASSES, TEMPERATURE = 8, 2.0


def network(width):
    return nn.Sequential(nn.Linear(16, width), nn.ReLU(), nn.Linear(width, CLASSES))


def soft_loss(student, teacher):
    student = F.log_softmax(student / TEMPERATURE, dim=-1)
    teacher = F.softmax(teacher / TEMPERATURE, dim=-1)
    return F.kl_div(student, teacher, reduction="batchmean") * TEMPERATURE**2


def main():
    torch.manual_seed(0)
    points = torch.randn(512, 16)
    teacher, student = network(64).eval(), network(8)
    optimizer = torch.optim.Adam(student.parameters(), lr=1e-2)
    for _ in range(5):
        for rows in torch.randperm(512).split(64):
            with torch.no_grad():
                wanted = teacher(points[rows])
            loss = soft_loss(student(points[rows]), wanted)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    print(f"loss {loss.item():.3f}")


main()
