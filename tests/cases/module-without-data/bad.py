import io

import torch
from torch import nn


class Thermometer(nn.Module):
    def __init__(self, sensors):
        super().__init__()
        self.register_buffer("offset", torch.full((sensors,), 20.0), persistent=False)
        self.scale = nn.Linear(sensors, 1)

    def forward(self, readings):
        return self.scale(readings - self.offset).squeeze(-1)


def saved_weights(sensors):
    torch.manual_seed(0)
    file = io.BytesIO()
    torch.save(Thermometer(sensors).state_dict(), file)
    file.seek(0)
    return file


weights = saved_weights(6)
with torch.device("meta"):
    model = Thermometer(6)
model.load_state_dict(torch.load(weights), assign=True)
model = model.to("cpu")
optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
draw = torch.Generator().manual_seed(1)
for _ in range(4):
    readings = 20 + torch.randn(16, 6, generator=draw)
    loss = nn.functional.mse_loss(model(readings), readings.mean(dim=1))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
