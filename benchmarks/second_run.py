"""What a second run that records lineage costs, beside the first one's way to the fault.

    python benchmarks/second_run.py [--only loop] [--times 3]

Each script crashes late. The first run is watched as `surefit run` does it; the second one records
the lineage of all values in the frames of the crash. Figures are CPU seconds of all processes of a
run, imports included, the median of several runs.
"""

import argparse
import resource
import statistics
import sys
import tempfile
from pathlib import Path

from surefit.doctor.observations import Crash, Question
from surefit.lineage.producers import LINEAGE
from surefit.observe.script import Launch, watch
from surefit.proof.second_run import answer_by_second_run

SCRIPTS = {
    "loop": """
import random
import torch
from torch import nn
random.seed(0); torch.manual_seed(0)
rows = [{"x": [random.random() for _ in range(16)], "y": i % 4} for i in range(640)]
model = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 4))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
loss_fn = nn.CrossEntropyLoss()
history, best = [], None
for step in range(400):
    batch = [rows[(step * 8 + k) % len(rows)] for k in range(8)]
    scaled = []
    for row in batch:
        top = max(row["x"])
        low = min(row["x"])
        scaled.append([(v - low) / (top - low) for v in row["x"]])
    labels = [row["y"] for row in batch]
    if step == 312:
        labels = labels[:-1]
    x = torch.tensor(scaled)
    y = torch.tensor(labels)
    out = model(x)
    loss = loss_fn(out, y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    history.append(loss.item())
    mean = sum(history[-20:]) / len(history[-20:])
    if best is None or mean < best:
        best = mean
""",
    "tight": """
import torch
from torch import nn
torch.manual_seed(0)
text = "the quick brown fox jumps over the lazy dog " * 40
def tokenize(text, table):
    ids = []
    for letter in text:
        if letter not in table:
            table[letter] = len(table)
        ids.append(table[letter])
    return ids
def windows(ids, width):
    out = []
    for at in range(0, len(ids) - width, 2):
        out.append(ids[at:at + width])
    return out
table = {}
model = nn.Sequential(nn.Embedding(32, 16), nn.Flatten(), nn.Linear(16 * 8, 32))
optimizer = torch.optim.Adam(model.parameters())
counts = [0] * 64
for step in range(120):
    ids = tokenize(text, table)
    rows = windows(ids, 9)
    chosen = rows[step * 4 % 400:step * 4 % 400 + 16]
    for row in chosen:
        for item in row:
            counts[item] += 1
    if step == 110:
        chosen[3][8] = 99
    batch = torch.tensor(chosen)
    logits = model(batch[:, :8])
    loss = nn.functional.cross_entropy(logits, batch[:, 8])
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
""",
    "rows": """
import random
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
random.seed(1); torch.manual_seed(0)
def read():
    for i in range(10_000):
        text = " ".join(random.choice("abcdefgh") * 3 for _ in range(12))
        yield {"id": i, "text": text, "stars": i % 5 + 1}
vocab = {}
def encode(row):
    ids = []
    for word in row["text"].split():
        ids.append(vocab.setdefault(word, len(vocab) + 1))
    return {"input_ids": ids, "label": row["stars"]}
rows = [encode(row) for row in read()]
kept = [row for row in rows if len(row["input_ids"]) > 3]
x = torch.tensor([row["input_ids"] for row in kept])
y = torch.tensor([row["label"] for row in kept])
model = nn.Sequential(nn.Embedding(16, 8), nn.Flatten(), nn.Linear(96, 5))
optimizer = torch.optim.Adam(model.parameters())
for a, b in DataLoader(TensorDataset(x, y), batch_size=32):
    loss = nn.functional.cross_entropy(model(a), b)
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
""",
    "workers": """
import random
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset
class Rows(Dataset):
    def __init__(self, n):
        self.rows = [[(i * 7 + k) % 50 for k in range(24)] for i in range(n)]
    def __len__(self):
        return len(self.rows)
    def __getitem__(self, at):
        row = self.rows[at]
        shifted = [token + 1 for token in row]
        mask = [int(token > 3) for token in shifted]
        label = sum(shifted) % 3
        if at == 2500:
            label = 3
        return torch.tensor(shifted), torch.tensor(mask), label
def main():
    torch.manual_seed(0)
    loader = DataLoader(Rows(4000), batch_size=16, num_workers=2)
    table = nn.Embedding(64, 32)
    head = nn.Linear(32, 3)
    optimizer = torch.optim.AdamW([*table.parameters(), *head.parameters()])
    for epoch in range(2):
        for ids, mask, labels in loader:
            states = table(ids) * mask.unsqueeze(-1)
            logits = head(states.sum(1) / mask.sum(1, keepdim=True))
            loss = nn.functional.cross_entropy(logits, labels)
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
if __name__ == "__main__":
    main()
""",
    "trainer": """
import torch
from datasets import Dataset
from transformers import BertConfig, BertForSequenceClassification, Trainer, TrainingArguments
torch.manual_seed(0)
rows = [
    {"input_ids": [(i + k) % 60 for k in range(12)], "labels": i % 3 if i != 1200 else 5}
    for i in range(2000)
]
data = Dataset.from_list(rows)
def add(row):
    row["attention_mask"] = [1 for _ in row["input_ids"]]
    return row
data = data.map(add)
config = BertConfig(
    vocab_size=64, hidden_size=32, num_hidden_layers=2, num_attention_heads=2,
    intermediate_size=64, num_labels=3,
)
model = BertForSequenceClassification(config)
class Mine(Trainer):
    def _get_train_sampler(self, *a):
        return torch.utils.data.SequentialSampler(self.train_dataset)
def collate(features):
    keys = ("input_ids", "attention_mask", "labels")
    return {key: torch.tensor([f[key] for f in features]) for key in keys}
args = TrainingArguments(
    "out", per_device_train_batch_size=8, num_train_epochs=1, report_to=[], save_strategy="no",
    disable_tqdm=True, use_cpu=True,
)
Mine(model=model, args=args, train_dataset=data, data_collator=collate).train()
""",
    "recurrent": """
import torch
from torch import nn
torch.manual_seed(0)
class Cell(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.w = nn.Linear(width, width)
        self.u = nn.Linear(width, width)
    def forward(self, x, h):
        outs = []
        for t in range(x.size(1)):
            h = torch.tanh(self.w(x[:, t]) + self.u(h))
            outs.append(h)
        return torch.stack(outs, 1), h
cell = Cell(16)
head = nn.Linear(16, 4)
optimizer = torch.optim.Adam([*cell.parameters(), *head.parameters()])
h = torch.zeros(8, 16)
for step in range(200):
    x = torch.randn(8 if step < 150 else 6, 20, 16)
    y = torch.randint(0, 4, (8 if step < 150 else 6, 20))
    out, h = cell(x, h.detach())
    loss = nn.functional.cross_entropy(head(out).flatten(0, 1), y.flatten())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
""",
}


def cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def measure(script: str) -> tuple[float, float, int]:
    """CPU seconds of the first run and of the second, and how many evaluations that noted."""
    with tempfile.TemporaryDirectory(prefix="surefit-") as folder:
        (Path(folder) / "train.py").write_text(script)
        launch = Launch((sys.executable, "train.py"), Path(folder), "train.py")
        began = cpu()
        seen = watch(launch, quiet=True).recording
        first = cpu() - began
        crash = list(seen.all(Crash))[-1]
        question = Question(LINEAGE, crash.id, {})
        began = cpu()
        (answer,) = answer_by_second_run([question], seen, launch, None, seconds=600, watch=watch)
    said = answer.said
    if said is None:
        raise RuntimeError(answer.why_not)
    return first, cpu() - began, int(str(said["records"]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", choices=list(SCRIPTS))
    parser.add_argument("--times", type=int, default=3)
    asked = parser.parse_args()
    print("| script | first run | second run | ratio | noted |\n| --- | --- | --- | --- | --- |")
    for name, script in SCRIPTS.items():
        if asked.only in (None, name):
            runs = [measure(script) for _ in range(asked.times)]
            first, second = (statistics.median(run[at] for run in runs) for at in (0, 1))
            ratio = statistics.median(run[1] / run[0] for run in runs)
            noted = f"{runs[0][2]:,}"
            print(
                f"| {name} | {first:.1f} s | {second:.1f} s | {ratio:.2f} | {noted} |", flush=True
            )


if __name__ == "__main__":
    main()
