import torch
from torch import nn
from torch.utils.data import DataLoader

torch.manual_seed(0)


def gather(samples):
    longest = max(len(sample["frames"]) for sample in samples)
    frames, kinds = [], []
    for sample in samples:
        missing = longest - len(sample["frames"])
        frames.append(torch.cat([sample["frames"], torch.zeros(missing, 6)]))
        kinds.append(sample["kind"])
    return torch.stack(frames), torch.tensor(kinds)


samples = [{"frames": torch.randn(5 + at % 4, 6), "kind": at % 3} for at in range(48)]
reader, out = nn.LSTM(6, 20, batch_first=True), nn.Linear(20, 3)
optimizer = torch.optim.Adam([*reader.parameters(), *out.parameters()], lr=0.01)
for frames, kinds in DataLoader(samples, batch_size=12, collate_fn=gather):
    states, _ = reader(frames)
    loss = nn.functional.cross_entropy(out(states[:, -1]), kinds)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
