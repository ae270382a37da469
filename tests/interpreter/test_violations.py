"""A script evaluated from its source: what certainly goes wrong is derived, and nothing else."""

import pytest

from surefit.interpreter import violations_of
from surefit.source.reading import Source

IMPORTS = """
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset, TensorDataset
"""

HEALTHY = {
    "an adversarial pair, whose generator is detached for the critic": """
G = nn.Sequential(nn.Linear(4, 16), nn.ReLU(True), nn.Linear(16, 2), nn.Tanh())
D = nn.Sequential(nn.Linear(2, 16), nn.LeakyReLU(0.2, inplace=True), nn.Linear(16, 1))
oD, oG = (
    torch.optim.Adam(D.parameters(), lr=1e-3),
    torch.optim.Adam(G.parameters(), lr=1e-3),
)
crit = nn.BCEWithLogitsLoss()
for epoch in range(3):
    for i, (real,) in enumerate(
        DataLoader(TensorDataset(torch.randn(64, 2)), batch_size=8)
    ):
        D.zero_grad()
        label = torch.ones(real.size(0), 1)
        out = D(real)
        errD_real = crit(out, label)
        errD_real.backward()
        fake = G(torch.randn(real.size(0), 4))
        label.fill_(0)
        out = D(fake.detach())
        errD_fake = crit(out, label)
        errD_fake.backward()
        errD = errD_real + errD_fake
        oD.step()
        G.zero_grad()
        label.fill_(1)
        errG = crit(D(fake), label)
        errG.backward()
        oG.step()
""",
    "a state that is detached between pieces": """
class RNN(nn.Module):
    def __init__(self, n=20, h=16):
        super().__init__()
        self.emb = nn.Embedding(n, h)
        self.rnn = nn.LSTM(h, h, 2, dropout=0.1)
        self.dec = nn.Linear(h, n)
        self.dec.weight = self.emb.weight
        self.init_weights()

    def init_weights(self):
        r = 0.1
        nn.init.uniform_(self.emb.weight, -r, r)
        self.dec.bias.data.zero_()
        self.dec.weight.data.uniform_(-r, r)

    def forward(self, x, hidden):
        out, hidden = self.rnn(self.emb(x), hidden)
        return self.dec(out), hidden

    def init_hidden(self, bsz):
        weight = next(self.parameters())
        return (weight.new_zeros(2, bsz, 16), weight.new_zeros(2, bsz, 16))


def repackage_hidden(h):
    if isinstance(h, torch.Tensor):
        return h.detach()
    else:
        return tuple(repackage_hidden(v) for v in h)


model = RNN()
hidden = model.init_hidden(4)
hidden = None
data = torch.randint(0, 20, (100, 4))
opt = torch.optim.SGD(model.parameters(), lr=0.1)
for epoch in range(3):
    for i in range(0, 90, 10):
        if hidden is not None:
            hidden = repackage_hidden(hidden)
        out, hidden = model(data[i : i + 10], hidden)
        loss = F.cross_entropy(out.view(-1, 20), data[i + 1 : i + 11].reshape(-1))
        opt.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1)
        opt.step()
h = None
for step in range(5):
    out, h = model.rnn(model.emb(data[:10]), h)
    h = (h[0].detach(), h[1].detach())
    loss = model.dec(out).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
h = None
for step in range(5):
    out, h = model.rnn(model.emb(data[:10]), h)
    loss = model.dec(out).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    h = tuple(t.detach() for t in h)
""",
    "gradients that add up, and losses by row that are reduced": """
model = nn.Sequential(nn.Flatten(), nn.Linear(784, 10))
opt = torch.optim.AdamW(model.parameters(), lr=1e-3)
loader = DataLoader(
    TensorDataset(torch.rand(64, 1, 28, 28), torch.randint(0, 10, (64,))), batch_size=8
)
total = 0.0
losses = []
for i, (x, y) in enumerate(loader):
    loss = F.cross_entropy(model(x), y) / 4
    loss.backward()
    total += loss.item()
    losses.append(loss.detach())
    if (i + 1) % 4 == 0:
        opt.step()
        opt.zero_grad()
print(torch.stack(losses).mean(), torch.tensor(total))
crit = nn.CrossEntropyLoss(reduction="none")
w = torch.rand(8)
for x, y in loader:
    per = crit(model(x), y)
    loss = (per * w).sum() / w.sum()
    opt.zero_grad()
    loss.backward()
    opt.step()
    l2 = crit(model(x), y)
    l2.mean().backward()
""",
    "weights that are written to without recording": """
class Scale(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.w = nn.Parameter(torch.empty(n))
        self.b = nn.Parameter(torch.zeros(n))
        self.reset()
        with torch.no_grad():
            self.w.mul_(0.5)
            self.b[0] = 1.0
        self.w.data.clamp_(0, 1)
        self.register_buffer("steps", torch.zeros(1))
        self.hist = torch.zeros(n)

    @torch.no_grad()
    def reset(self):
        self.w.fill_(1.0)
        nn.init.normal_(self.b)

    def forward(self, x):
        self.steps += 1
        self.hist[0] = 3
        return x * self.w + self.b


a, b = Scale(4), Scale(4)
opt = torch.optim.SGD(a.parameters(), lr=0.1)
for _ in range(3):
    loss = a(torch.randn(5, 4)).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    with torch.no_grad():
        for p, q in zip(a.parameters(), b.parameters()):
            q.mul_(0.9).add_(p, alpha=0.1)
            q.data = q.data * 2
    for p in a.parameters():
        p.data.clamp_(-1, 1)
        if p.grad is not None:
            p.grad.data.mul_(2)
w = torch.randn(3, requires_grad=True)
for _ in range(5):
    loss = (w**2).sum()
    loss.backward()
    with torch.no_grad():
        w -= 0.1 * w.grad
        w.grad.zero_()
""",
    "parts that are frozen and others that are not": """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(8, 8), nn.ReLU())
        self.head = nn.Linear(8, 2)

    def forward(self, x):
        with torch.no_grad():
            h = self.body(x)
        return self.head(h)


net = Net()
for p in net.parameters():
    p.requires_grad = False
net.head = nn.Linear(8, 3)
opt = torch.optim.SGD(filter(lambda p: p.requires_grad, net.parameters()), lr=0.1)
for _ in range(4):
    loss = F.cross_entropy(net(torch.randn(4, 8)), torch.randint(0, 3, (4,)))
    opt.zero_grad()
    loss.backward()
    opt.step()
net2 = Net()
for name, p in net2.named_parameters():
    if not name.startswith("head"):
        p.requires_grad = False
for _ in range(4):
    F.cross_entropy(net2(torch.randn(4, 8)), torch.randint(0, 2, (4,))).backward()
net3 = Net()
net3.requires_grad_(False)
net3.head.requires_grad_(True)
F.cross_entropy(net3(torch.randn(4, 8)), torch.randint(0, 2, (4,))).backward()
net4 = Net()
net4.requires_grad_(False)
net4.head.weight.requires_grad = True
F.cross_entropy(net4(torch.randn(4, 8)), torch.randint(0, 2, (4,))).backward()


def set_trainable(m, flag):
    for p in m.parameters():
        p.requires_grad_(flag)


D, G = nn.Linear(2, 1), nn.Linear(3, 2)
for _ in range(3):
    set_trainable(D, True)
    D(G(torch.randn(2, 3)).detach()).mean().backward()
    set_trainable(D, False)
    D(G(torch.randn(2, 3))).mean().backward()
""",
    "a U-Net that mends sizes, and a residual network": """
class Block(nn.Module):
    def __init__(self, i, o):
        super().__init__()
        self.net = nn.Sequential(
            nn.Conv2d(i, o, 3, padding=1, bias=False),
            nn.BatchNorm2d(o),
            nn.ReLU(inplace=True),
            nn.Conv2d(o, o, 3, padding=1),
            nn.GroupNorm(4, o),
            nn.ReLU(inplace=True),
        )

    def forward(self, x):
        return self.net(x)


class UNet(nn.Module):
    def __init__(self, n_channels=3, n_classes=2, features=(16, 32, 64)):
        super().__init__()
        self.downs, self.ups = nn.ModuleList(), nn.ModuleList()
        self.pool = nn.MaxPool2d(2, 2)
        c = n_channels
        for f in features:
            self.downs.append(Block(c, f))
            c = f
        for f in reversed(features):
            self.ups.append(nn.ConvTranspose2d(f * 2, f, 2, 2))
            self.ups.append(Block(f * 2, f))
        self.bottleneck = Block(features[-1], features[-1] * 2)
        self.final = nn.Conv2d(features[0], n_classes, 1)

    def forward(self, x):
        skips = []
        for d in self.downs:
            x = d(x)
            skips.append(x)
            x = self.pool(x)
        x = self.bottleneck(x)
        skips = skips[::-1]
        for i in range(0, len(self.ups), 2):
            x = self.ups[i](x)
            s = skips[i // 2]
            if x.shape != s.shape:
                x = F.interpolate(x, size=s.shape[2:])
            x = self.ups[i + 1](torch.cat((s, x), dim=1))
        return self.final(x)


m = UNet()
for x, y in DataLoader(
    TensorDataset(torch.rand(8, 3, 61, 61), torch.randint(0, 2, (8, 61, 61))), batch_size=2
):
    F.cross_entropy(m(x), y).backward()


class Bottleneck(nn.Module):
    expansion = 4

    def __init__(self, i, p, stride=1, down=None):
        super().__init__()
        self.conv1 = nn.Conv2d(i, p, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(p)
        self.conv2 = nn.Conv2d(p, p, 3, stride, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(p)
        self.conv3 = nn.Conv2d(p, p * self.expansion, 1, bias=False)
        self.bn3 = nn.BatchNorm2d(p * self.expansion)
        self.relu = nn.ReLU(inplace=True)
        self.down = down

    def forward(self, x):
        identity = x
        out = self.relu(self.bn1(self.conv1(x)))
        out = self.relu(self.bn2(self.conv2(out)))
        out = self.bn3(self.conv3(out))
        if self.down is not None:
            identity = self.down(x)
        out += identity
        return self.relu(out)


class ResNet(nn.Module):
    def __init__(self, block, layers, n=10):
        super().__init__()
        self.inplanes = 64
        self.conv1 = nn.Conv2d(3, 64, 7, 2, 3, bias=False)
        self.bn1 = nn.BatchNorm2d(64)
        self.relu = nn.ReLU(inplace=True)
        self.maxpool = nn.MaxPool2d(3, 2, 1)
        self.layer1 = self._make(block, 64, layers[0])
        self.layer2 = self._make(block, 128, layers[1], 2)
        self.avg = nn.AdaptiveAvgPool2d((1, 1))
        self.fc = nn.Linear(128 * block.expansion, n)
        for m in self.modules():
            if isinstance(m, nn.Conv2d):
                nn.init.kaiming_normal_(m.weight)

    def _make(self, block, planes, blocks, stride=1):
        down = None
        if stride != 1 or self.inplanes != planes * block.expansion:
            down = nn.Sequential(
                nn.Conv2d(self.inplanes, planes * block.expansion, 1, stride, bias=False),
                nn.BatchNorm2d(planes * block.expansion),
            )
        layers = [block(self.inplanes, planes, stride, down)]
        self.inplanes = planes * block.expansion
        for _ in range(1, blocks):
            layers.append(block(self.inplanes, planes))
        return nn.Sequential(*layers)

    def forward(self, x):
        x = self.maxpool(self.relu(self.bn1(self.conv1(x))))
        x = self.layer2(self.layer1(x))
        return self.fc(torch.flatten(self.avg(x), 1))


net = ResNet(Bottleneck, [2, 2])
F.cross_entropy(net(torch.rand(2, 3, 64, 64)), torch.randint(0, 10, (2,))).backward()
""",
    "a language model of its own": """
from dataclasses import dataclass
import math


@dataclass
class Config:
    block_size: int = 64
    vocab_size: int = 65
    n_layer: int = 2
    n_head: int = 4
    n_embd: int = 64
    dropout: float = 0.1
    bias: bool = True


class Attn(nn.Module):
    def __init__(self, config):
        super().__init__()
        assert config.n_embd % config.n_head == 0
        self.c_attn = nn.Linear(config.n_embd, 3 * config.n_embd, bias=config.bias)
        self.c_proj = nn.Linear(config.n_embd, config.n_embd, bias=config.bias)
        self.n_head, self.n_embd = config.n_head, config.n_embd
        self.register_buffer(
            "bias",
            torch.tril(torch.ones(config.block_size, config.block_size)).view(
                1, 1, config.block_size, config.block_size
            ),
        )

    def forward(self, x):
        B, T, C = x.size()
        q, k, v = self.c_attn(x).split(self.n_embd, dim=2)
        k = k.view(B, T, self.n_head, C // self.n_head).transpose(1, 2)
        q = q.view(B, T, self.n_head, C // self.n_head).transpose(1, 2)
        v = v.view(B, T, self.n_head, C // self.n_head).transpose(1, 2)
        att = (q @ k.transpose(-2, -1)) * (1.0 / math.sqrt(k.size(-1)))
        att = att.masked_fill(self.bias[:, :, :T, :T] == 0, float("-inf"))
        y = F.softmax(att, dim=-1) @ v
        y = y.transpose(1, 2).contiguous().view(B, T, C)
        return self.c_proj(y)


class GPT(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.config = config
        self.transformer = nn.ModuleDict(
            dict(
                wte=nn.Embedding(config.vocab_size, config.n_embd),
                wpe=nn.Embedding(config.block_size, config.n_embd),
                h=nn.ModuleList([Attn(config) for _ in range(config.n_layer)]),
                ln_f=nn.LayerNorm(config.n_embd),
            )
        )
        self.lm_head = nn.Linear(config.n_embd, config.vocab_size, bias=False)
        self.transformer.wte.weight = self.lm_head.weight

    def forward(self, idx, targets=None):
        b, t = idx.size()
        assert t <= self.config.block_size
        pos = torch.arange(0, t, dtype=torch.long, device=idx.device)
        x = self.transformer.wte(idx) + self.transformer.wpe(pos)
        for block in self.transformer.h:
            x = x + block(x)
        x = self.transformer.ln_f(x)
        if targets is not None:
            logits = self.lm_head(x)
            loss = F.cross_entropy(
                logits.view(-1, logits.size(-1)), targets.view(-1), ignore_index=-1
            )
        else:
            logits = self.lm_head(x[:, [-1], :])
            loss = None
        return logits, loss


device = "cuda" if torch.cuda.is_available() else "cpu"
model = GPT(Config()).to(device)
opt = torch.optim.AdamW(model.parameters(), lr=1e-3)
data = torch.randint(0, 65, (1000,))


def get_batch():
    ix = torch.randint(len(data) - 64, (8,))
    x = torch.stack([data[i : i + 64] for i in ix])
    y = torch.stack([data[i + 1 : i + 65] for i in ix])
    return x.to(device), y.to(device)


for it in range(10):
    x, y = get_batch()
    logits, loss = model(x, y)
    opt.zero_grad(set_to_none=True)
    loss.backward()
    opt.step()
torch.save(
    {"model": model.state_dict(), "args": {"a": 1}, "optimizer": opt.state_dict(), "it": 3},
    "ckpt.pt",
)
ck = torch.load("ckpt.pt", map_location=device)
model.load_state_dict(ck["model"])
opt.load_state_dict(ck["optimizer"])
""",
    "tensors that are all moved": """
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")


class Pos(nn.Module):
    def __init__(self, d, n=50):
        super().__init__()
        pe = torch.zeros(n, d)
        pe[:, 0::2] = 1
        self.register_buffer("pe", pe.unsqueeze(0))
        self.table = torch.ones(n, d)
        self.scale = torch.tensor(2.0)
        self.lin = nn.Linear(d, d)

    def forward(self, x):
        x = x + self.pe[:, : x.size(1)] + self.table[: x.size(1)].to(x.device)
        mask = torch.ones(x.size(1), device=x.device)
        return self.lin(x * self.scale) * mask[:, None]


m = Pos(8).to(device)
crit = nn.CrossEntropyLoss(weight=torch.tensor([1.0, 2.0]).to(device)).to(device)
opt = torch.optim.SGD(m.parameters(), lr=0.1)
xs, ys = torch.randn(40, 6, 8), torch.randint(0, 2, (40,))
correct = torch.zeros(2)
for x, y in DataLoader(TensorDataset(xs, ys), batch_size=4):
    x, y = x.to(device), y.to(device)
    out = m(x).mean((1, 2), keepdim=False)
    loss = F.binary_cross_entropy_with_logits(out, y.float())
    opt.zero_grad()
    loss.backward()
    opt.step()
    pred = (out > 0).long().cpu()
    correct += (pred == y.cpu()).sum()
perm = torch.randperm(40)
gx = xs.to(device)[perm]
batch = {"a": xs, "b": ys}
batch = {k: v.to(device) for k, v in batch.items()}
if torch.cuda.is_available():
    xs = xs.cuda()
    m.cuda()
m(xs)
m2 = Pos(8)
if torch.cuda.is_available():
    m2 = m2.cuda()
m2(torch.randn(2, 3, 8))
""",
    "casts that fit": """
m = nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 2)).half()
m(torch.randn(2, 4).half())
m = m.float()
m(torch.randn(2, 4))
m = m.to(torch.bfloat16)
m(torch.randn(2, 4, dtype=torch.bfloat16))
m = m.to(dtype=torch.float32)
with torch.autocast("cpu", dtype=torch.bfloat16):
    out = m(torch.randn(2, 4))
    loss = out.float().mean()
loss.backward()
m(torch.arange(8).view(2, 4).float())
m((torch.arange(8) / 8).view(2, 4))
m(torch.tensor([[1, 2, 3, 4]], dtype=torch.float))
d = nn.Linear(3, 1).double()
d(torch.rand(2, 3, dtype=torch.float64))
d(torch.rand(2, 3).double())
""",
    "checkpoints that fit": """
class Net(nn.Module):
    def __init__(self, k=3):
        super().__init__()
        self.a = nn.Linear(4, 8)
        self.bn = nn.BatchNorm1d(8)
        self.b = nn.Linear(8, k)

    def forward(self, x):
        return self.b(self.bn(self.a(x)))


net = Net()
par = nn.DataParallel(net)
torch.save(par.module.state_dict(), "m.pt")
Net().load_state_dict(torch.load("m.pt"))
torch.save(par.state_dict(), "p.pt")
sd = torch.load("p.pt")
Net().load_state_dict({k.replace("module.", ""): v for k, v in sd.items()})
nn.DataParallel(Net()).load_state_dict(torch.load("p.pt"))
sd = torch.load("m.pt")
del sd["b.weight"], sd["b.bias"]
Net(5).load_state_dict(sd, strict=False)
torch.save(net, "whole.pt")
net = torch.load("whole.pt", weights_only=False)
state = {"model": Net().state_dict(), "epoch": 3}
state["best"] = 0.1
torch.save(state, "s.pt")
ck = torch.load("s.pt")
Net().load_state_dict(ck["model"])
print(ck["best"], ck.get("other"))
if "ema" in ck:
    Net().load_state_dict(ck["ema"])
best = None
for epoch in range(3):
    if best is None or epoch > best:
        best = epoch
        torch.save({"net": Net().state_dict()}, "best.pt")
Net().load_state_dict(torch.load("best.pt")["net"])
big = Net(7)
pre = torch.load("m.pt")
own = big.state_dict()
pre = {k: v for k, v in pre.items() if k in own and v.shape == own[k].shape}
own.update(pre)
big.load_state_dict(own)
o1 = torch.optim.Adam(Net().parameters())
o2 = torch.optim.Adam(Net().parameters())
o2.load_state_dict(o1.state_dict())
""",
    "recording switched off and on": """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.l = nn.Linear(4, 2)

    def forward(self, x):
        return self.l(x)


model = Net()
opt = torch.optim.SGD(model.parameters(), lr=0.1)


@torch.no_grad()
def evaluate(m):
    m.eval()
    tot = 0
    for _ in range(2):
        tot += F.cross_entropy(m(torch.randn(3, 4)), torch.randint(0, 2, (3,))).item()
    m.train()
    return tot


for epoch in range(2):
    for phase in ["train", "val"]:
        for _ in range(2):
            opt.zero_grad()
            with torch.set_grad_enabled(phase == "train"):
                loss = F.cross_entropy(model(torch.randn(3, 4)), torch.randint(0, 2, (3,)))
                if phase == "train":
                    loss.backward()
                    opt.step()
    print(evaluate(model))


def run(m, train=True):
    torch.set_grad_enabled(train)
    loss = m(torch.randn(3, 4)).mean()
    if train:
        loss.backward()
    return loss


run(model)
run(model, False)
run(model)


def run_epoch(m, optimizer=None):
    ctx = torch.enable_grad() if optimizer is not None else torch.no_grad()
    with ctx:
        loss = m(torch.randn(3, 4)).mean()
        if optimizer:
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()


run_epoch(model, opt)
run_epoch(model)
""",
    "several losses, and gradients of inputs": """
enc, h1, h2 = nn.Linear(4, 8), nn.Linear(8, 1), nn.Linear(8, 1)
opt = torch.optim.SGD([*enc.parameters(), *h1.parameters(), *h2.parameters()], lr=0.1)
for _ in range(3):
    z = enc(torch.randn(5, 4))
    l1, l2 = h1(z).mean(), h2(z).mean()
    opt.zero_grad()
    l1.backward(retain_graph=True)
    l2.backward()
    opt.step()
for _ in range(3):
    loss = 0
    z = enc(torch.randn(5, 4))
    for h in (h1, h2):
        loss = loss + h(z).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
running = 0.0
for _ in range(3):
    z = enc(torch.randn(5, 4))
    loss = h1(z).pow(2).mean()
    running = 0.9 * running + 0.1 * loss.detach()
    (loss - running).backward()
x = torch.randn(2, 4)
x.requires_grad = True
h1(enc(x)).mean().backward()
adv = x + 0.1 * x.grad.sign()
x2 = torch.randn(2, 4).requires_grad_()
g = torch.autograd.grad(h1(enc(x2)).sum(), x2, create_graph=True)[0]
((g.norm(2, dim=1) - 1) ** 2).mean().backward()
img = torch.rand(3, requires_grad=True)
o = torch.optim.Adam([img], lr=0.1)
for _ in range(3):
    o.zero_grad()
    (img**2).sum().backward()
    o.step()
    img.data.clamp_(0, 1)
lb = torch.optim.LBFGS(enc.parameters())


def closure():
    lb.zero_grad()
    loss = enc(torch.randn(5, 4)).pow(2).mean()
    loss.backward()
    return loss


lb.step(closure)
actor, critic = nn.Linear(3, 1), nn.Linear(4, 1)
ao, co = torch.optim.Adam(actor.parameters()), torch.optim.Adam(critic.parameters())
for _ in range(3):
    s = torch.randn(8, 3)
    with torch.no_grad():
        target = critic(torch.cat([s, actor(s)], 1))
    closs = F.mse_loss(critic(torch.cat([s, torch.randn(8, 1)], 1)), target)
    co.zero_grad()
    closs.backward()
    co.step()
    aloss = -critic(torch.cat([s, actor(s)], 1)).mean()
    ao.zero_grad()
    aloss.backward()
    ao.step()
""",
    "widths that depend on arguments": """
class MLP(nn.Module):
    def __init__(self, dims):
        super().__init__()
        layers = []
        for i in range(len(dims) - 1):
            layers += [nn.Linear(dims[i], dims[i + 1]), nn.ReLU(), nn.Dropout(0.1)]
        self.net = nn.Sequential(*layers[:-2])
        self.out_dim = dims[-1]

    def forward(self, x):
        return self.net(x)


m = MLP([10, 20, 5])
m(torch.randn(3, 10))


class Two(nn.Module):
    def __init__(self, use_proj=True, d=16):
        super().__init__()
        self.a = nn.Linear(8, d)
        self.proj = nn.Linear(d, 32) if use_proj else nn.Identity()
        self.out = nn.Linear(32 if use_proj else d, 2)
        self.gru = nn.GRU(d, 12, batch_first=True, bidirectional=True)
        self.fc = nn.Linear(24 * 2, 2)

    def forward(self, x):
        h = self.a(x)
        o, hn = self.gru(h)
        both = torch.cat([hn[-2], hn[-1]], dim=1)
        y = torch.cat([o[:, 0], o[:, -1]], dim=-1)
        if h.shape[-1] != 32:
            h = self.proj(h)
        return self.out(h).mean(1) + self.fc(y) + self.out(F.pad(both, (0, 8)))


Two()(torch.randn(3, 5, 8))
Two(False, 32)


class LeNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 6, 5)
        self.conv2 = nn.Conv2d(6, 16, 5)
        self.fc1 = nn.Linear(16 * 4 * 4, 120)
        self.fc2 = nn.Linear(120, 84)
        self.fc3 = nn.Linear(84, 10)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.conv1(x)), (2, 2))
        x = F.max_pool2d(F.relu(self.conv2(x)), 2)
        x = x.view(-1, self.num_flat_features(x))
        return self.fc3(F.relu(self.fc2(F.relu(self.fc1(x)))))

    def num_flat_features(self, x):
        n = 1
        for s in x.size()[1:]:
            n *= s
        return n


LeNet()(torch.rand(2, 1, 28, 28))
for img, lab in DataLoader(
    TensorDataset(torch.rand(9, 1, 28, 28), torch.randint(0, 10, (9,))),
    batch_size=4,
    shuffle=True,
):
    F.cross_entropy(LeNet()(img), lab).backward()


class VAE(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(784, 400)
        self.fc21 = nn.Linear(400, 20)
        self.fc22 = nn.Linear(400, 20)
        self.fc3 = nn.Linear(20, 400)
        self.fc4 = nn.Linear(400, 784)

    def forward(self, x):
        h = F.relu(self.fc1(x.view(-1, 784)))
        mu, lv = self.fc21(h), self.fc22(h)
        z = mu + torch.exp(0.5 * lv) * torch.randn_like(lv)
        return torch.sigmoid(self.fc4(F.relu(self.fc3(z)))), mu, lv


v = VAE()
x = torch.rand(4, 1, 28, 28)
r, mu, lv = v(x)
(
    F.binary_cross_entropy(r, x.view(-1, 784), reduction="sum")
    - 0.5 * torch.sum(1 + lv - mu.pow(2) - lv.exp())
).backward()


class Dyn(nn.Module):
    def __init__(self):
        super().__init__()
        self.l = None

    def forward(self, x):
        if self.l is None:
            self.l = nn.Linear(x.shape[-1], 3)
        return self.l(x)


d = Dyn()
d(torch.rand(2, 5))
a = torch.randn(8, 1, 16) + torch.randn(8, 4, 16)
b = torch.randn(5, 1) * torch.randn(7)
c = torch.randn(8, 6, 5) @ torch.randn(5, 2)
e = (
    nn.Linear(5, 5)(torch.randn(2, 3, 5))
    .transpose(1, 2)
    .reshape(2, 15)[:, None]
    .expand(-1, 4, -1)
)
""",
    "padding that the loss alone sees": """
from torch.nn.utils.rnn import pad_sequence


class DS(Dataset):
    def __init__(self, n):
        self.x = [torch.randint(1, 20, (5 + i % 3,)) for i in range(n)]

    def __len__(self):
        return len(self.x)

    def __getitem__(self, i):
        return self.x[i], self.x[i] % 3


def collate(batch):
    xs, ys = zip(*batch)
    return pad_sequence(xs, batch_first=True), pad_sequence(
        ys, batch_first=True, padding_value=-100
    )


class T(nn.Module):
    def __init__(self):
        super().__init__()
        self.e = nn.Embedding(20, 8, padding_idx=0)
        self.p = nn.Embedding(64, 8)
        self.enc = nn.TransformerEncoder(
            nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), 2
        )
        self.o = nn.Linear(8, 3)

    def forward(self, x):
        pos = torch.arange(x.size(1)).unsqueeze(0)
        return self.o(self.enc(self.e(x) + self.p(pos), src_key_padding_mask=x == 0))


m = T()
opt = torch.optim.Adam(m.parameters())
for x, y in DataLoader(DS(12), batch_size=4, collate_fn=collate):
    loss = F.cross_entropy(m(x).transpose(1, 2), y, ignore_index=-100)
    opt.zero_grad()
    loss.backward()
    opt.step()
    for p in m.parameters():
        p.grad.data.clamp_(-1, 1)
ids = torch.randint(0, 20, (4, 7))
ids = torch.cat([torch.full((4, 1), 19), ids], 1)
m(ids)
lab = torch.where(ids == 0, -100, ids)
shifted = ids.masked_fill(ids == -100, 0)
""",
    "failures that are expected": """
import pytest


def test_bad_width():
    m = nn.Linear(4, 2)
    with pytest.raises(RuntimeError):
        m(torch.randn(2, 5))


def test_try():
    try:
        nn.Linear(4, 2)(torch.randn(2, 5))
    except RuntimeError:
        pass


def f(flag):
    m = nn.Linear(4, 2)
    if flag == "x":
        m = nn.Linear(5, 2)
    return m(torch.randn(2, 5)) if flag == "x" else m(torch.randn(2, 4))


f("x")
f("y")
""",
    "a policy and its value": """
class AC(nn.Module):
    def __init__(self, s=4, a=2):
        super().__init__()
        self.actor = nn.Sequential(
            nn.Linear(s, 64), nn.Tanh(), nn.Linear(64, a), nn.Softmax(dim=-1)
        )
        self.critic = nn.Sequential(nn.Linear(s, 64), nn.Tanh(), nn.Linear(64, 1))

    def act(self, state):
        probs = self.actor(state)
        d = torch.distributions.Categorical(probs)
        a = d.sample()
        return a.detach(), d.log_prob(a).detach(), self.critic(state).detach()

    def evaluate(self, s, a):
        d = torch.distributions.Categorical(self.actor(s))
        return d.log_prob(a), self.critic(s), d.entropy()


class PPO:
    def __init__(self):
        self.policy = AC()
        self.old = AC()
        self.old.load_state_dict(self.policy.state_dict())
        self.opt = torch.optim.Adam(
            [
                {"params": self.policy.actor.parameters(), "lr": 1e-3},
                {"params": self.policy.critic.parameters(), "lr": 1e-3},
            ]
        )
        self.mse = nn.MSELoss()
        self.buf = []

    def update(self):
        states = torch.randn(20, 4)
        actions = torch.randint(0, 2, (20,))
        rewards = torch.randn(20)
        old_lp = torch.randn(20)
        for _ in range(10):
            lp, v, ent = self.policy.evaluate(states, actions)
            v = torch.squeeze(v)
            ratios = torch.exp(lp - old_lp.detach())
            adv = rewards - v.detach()
            loss = (
                -torch.min(ratios * adv, torch.clamp(ratios, 0.8, 1.2) * adv)
                + 0.5 * self.mse(v, rewards)
                - 0.01 * ent
            )
            self.opt.zero_grad()
            loss.mean().backward()
            self.opt.step()
        self.old.load_state_dict(self.policy.state_dict())


p = PPO()
for e in range(3):
    p.update()
""",
    "an actor and its critics": """
def soft(t, s, tau):
    for a, b in zip(t.parameters(), s.parameters()):
        a.data.copy_(a.data * (1 - tau) + b.data * tau)


q1, q2, pi = nn.Linear(6, 1), nn.Linear(6, 1), nn.Linear(4, 2)
tq = nn.Linear(6, 1)
tq.load_state_dict(q1.state_dict())
log_alpha = torch.zeros(1, requires_grad=True)
alpha = log_alpha.exp()
qo = torch.optim.Adam(list(q1.parameters()) + list(q2.parameters()))
po = torch.optim.Adam(pi.parameters())
ao = torch.optim.Adam([log_alpha])
for _ in range(4):
    s, a = torch.randn(8, 4), torch.randn(8, 2)
    with torch.no_grad():
        y = tq(torch.cat([s, pi(s)], 1)) - alpha * 0.1
    ql = F.mse_loss(q1(torch.cat([s, a], 1)), y) + F.mse_loss(q2(torch.cat([s, a], 1)), y)
    qo.zero_grad()
    ql.backward()
    qo.step()
    act = pi(s)
    pl = (
        alpha.detach() * act.sum(1)
        - torch.min(q1(torch.cat([s, act], 1)), q2(torch.cat([s, act], 1))).squeeze()
    ).mean()
    po.zero_grad()
    pl.backward()
    po.step()
    al = -(log_alpha * (act.sum(1).detach() + 2)).mean()
    ao.zero_grad()
    al.backward()
    ao.step()
    alpha = log_alpha.exp()
    soft(tq, q1, 0.005)
""",
    "a penalty on gradients": """
from torch import autograd

G, D = nn.Linear(4, 2), nn.Sequential(nn.Linear(2, 8), nn.LeakyReLU(0.2), nn.Linear(8, 1))
oG, oD = torch.optim.Adam(G.parameters()), torch.optim.Adam(D.parameters())


def gp(D, r, f):
    a = torch.rand(r.size(0), 1)
    x = (a * r + (1 - a) * f).requires_grad_(True)
    d = D(x)
    g = autograd.grad(
        outputs=d,
        inputs=x,
        grad_outputs=torch.ones_like(d),
        create_graph=True,
        retain_graph=True,
        only_inputs=True,
    )[0]
    g = g.view(g.size(0), -1)
    return ((g.norm(2, dim=1) - 1) ** 2).mean()


for i in range(6):
    real = torch.randn(8, 2)
    z = torch.randn(8, 4)
    fake = G(z)
    ld = -D(real).mean() + D(fake).mean() + 10 * gp(D, real.data, fake.data)
    oD.zero_grad()
    ld.backward()
    oD.step()
    oG.zero_grad()
    if i % 5 == 0:
        fake = G(z)
        lg = -D(fake).mean()
        lg.backward()
        oG.step()
""",
    "a decoder that fills a tensor": """
import random


class Enc(nn.Module):
    def __init__(self, v, e, h):
        super().__init__()
        self.emb = nn.Embedding(v, e)
        self.rnn = nn.GRU(e, h, bidirectional=True)
        self.fc = nn.Linear(h * 2, h)
        self.h = h

    def forward(self, src):
        o, h = self.rnn(self.emb(src))
        return o, torch.tanh(self.fc(torch.cat((h[-2, :, :], h[-1, :, :]), dim=1)))


class Attn(nn.Module):
    def __init__(self, e, d):
        super().__init__()
        self.attn = nn.Linear(e * 2 + d, d)
        self.v = nn.Linear(d, 1, bias=False)

    def forward(self, hidden, outs):
        n = outs.shape[0]
        hidden = hidden.unsqueeze(1).repeat(1, n, 1)
        outs = outs.permute(1, 0, 2)
        return F.softmax(
            self.v(torch.tanh(self.attn(torch.cat((hidden, outs), dim=2)))).squeeze(2),
            dim=1,
        )


class Dec(nn.Module):
    def __init__(self, v, e, h):
        super().__init__()
        self.emb = nn.Embedding(v, e)
        self.a = Attn(h, h)
        self.rnn = nn.GRU(h * 2 + e, h)
        self.fc = nn.Linear(h * 2 + h + e, v)
        self.v = v

    def forward(self, x, hidden, outs):
        x = x.unsqueeze(0)
        em = self.emb(x)
        a = self.a(hidden, outs).unsqueeze(1)
        w = torch.bmm(a, outs.permute(1, 0, 2)).permute(1, 0, 2)
        o, hidden = self.rnn(torch.cat((em, w), dim=2), hidden.unsqueeze(0))
        return self.fc(
            torch.cat((o.squeeze(0), w.squeeze(0), em.squeeze(0)), dim=1)
        ), hidden.squeeze(0)


class S2S(nn.Module):
    def __init__(self, e, d):
        super().__init__()
        self.e, self.d = e, d

    def forward(self, src, trg, tf=0.5):
        n, b = trg.shape
        outs = torch.zeros(n, b, self.d.v)
        eo, h = self.e(src)
        x = trg[0, :]
        for t in range(1, n):
            o, h = self.d(x, h, eo)
            outs[t] = o
            x = trg[t] if random.random() < tf else o.argmax(1)
        return outs


m = S2S(Enc(20, 8, 16), Dec(20, 8, 16))
opt = torch.optim.Adam(m.parameters())
for _ in range(3):
    src, trg = torch.randint(0, 20, (7, 4)), torch.randint(0, 20, (6, 4))
    o = m(src, trg)
    loss = F.cross_entropy(o[1:].view(-1, 20), trg[1:].view(-1))
    opt.zero_grad()
    loss.backward()
    opt.step()
""",
    "a queue of keys": """
class MoCo(nn.Module):
    def __init__(self, dim=16, K=64, m=0.9, T=0.07):
        super().__init__()
        self.K, self.m, self.T = K, m, T
        self.q, self.k = nn.Linear(8, dim), nn.Linear(8, dim)
        for a, b in zip(self.q.parameters(), self.k.parameters()):
            b.data.copy_(a.data)
            b.requires_grad = False
        self.register_buffer("queue", torch.randn(dim, K))
        self.queue = F.normalize(self.queue, dim=0)
        self.register_buffer("ptr", torch.zeros(1, dtype=torch.long))

    @torch.no_grad()
    def momentum(self):
        for a, b in zip(self.q.parameters(), self.k.parameters()):
            b.data = b.data * self.m + a.data * (1.0 - self.m)

    @torch.no_grad()
    def enqueue(self, keys):
        n = keys.shape[0]
        p = int(self.ptr)
        self.queue[:, p : p + n] = keys.T
        self.ptr[0] = (p + n) % self.K

    def forward(self, a, b):
        q = F.normalize(self.q(a), dim=1)
        with torch.no_grad():
            self.momentum()
            k = F.normalize(self.k(b), dim=1)
        pos = torch.einsum("nc,nc->n", [q, k]).unsqueeze(-1)
        neg = torch.einsum("nc,ck->nk", [q, self.queue.clone().detach()])
        logits = torch.cat([pos, neg], dim=1) / self.T
        labels = torch.zeros(logits.shape[0], dtype=torch.long)
        self.enqueue(k)
        return logits, labels


m = MoCo()
o = torch.optim.SGD(m.parameters(), lr=0.1)
for _ in range(3):
    l, y = m(torch.randn(4, 8), torch.randn(4, 8))
    loss = F.cross_entropy(l, y)
    o.zero_grad()
    loss.backward()
    o.step()
""",
    "graphs that are used once": """
m = nn.Linear(3, 1)
o = torch.optim.SGD(m.parameters(), lr=0.1)
x = torch.randn(8, 3)
with torch.no_grad():
    feats = m(x)
head = nn.Linear(1, 1)
for _ in range(3):
    head(feats).mean().backward()
for _ in range(3):
    loss = m(x).mean()
    loss.backward()
    print(loss.item())
    o.step()
    o.zero_grad()
loss = torch.zeros(1)
for i in range(3):
    loss = loss + m(x[i : i + 1]).squeeze(0)
loss.backward()


def step(batch, total=[]):
    l = m(batch).mean()
    total.append(l.item())
    return l


ls = [step(x) for _ in range(2)]
sum(ls).backward()


def closure_like(f):
    l = f()
    l.backward()
    return float(l)


closure_like(lambda: m(x).pow(2).mean())
closure_like(lambda: m(x).pow(2).mean())
best = None
for e in range(3):
    l = m(x).mean()
    if best is None or l < best:
        best = l
    o.zero_grad()
    l.backward()
    o.step()
print(best.item())
mems = None
for seg in range(4):
    out = m(x) if mems is None else m(x) + mems.detach()
    mems = out
    o.zero_grad()
    out.mean().backward()
    o.step()
state = torch.zeros(8, 1)
for seg in range(4):
    state = torch.tanh(m(x) + state)
    if (seg + 1) % 2 == 0:
        o.zero_grad()
        state.mean().backward()
        o.step()
        state = state.detach()
y = m(x)
z = torch.sigmoid(y)
w = z.clone()
w[0] = 0
(w * z).mean().backward()
a = torch.relu(m(x))
a = a + 1
a += 2
a.mean().backward()
b = m(x)
b += 1
b *= 2
b.mean().backward()
c = torch.zeros(8, 1)
c[:4] = m(x)[:4]
c.mean().backward()
""",
    "a state that is detached in place": """
m = nn.LSTM(3, 4)
h = None
for _ in range(4):
    o, h = m(torch.randn(5, 2, 3), h)
    o.mean().backward()
    for t in h:
        t.detach_()
s = torch.zeros(1, 2, 4)
g = nn.GRU(3, 4)
for _ in range(4):
    s.detach_()
    o, s = g(torch.randn(5, 2, 3), s)
    o.mean().backward()
w = nn.Parameter(torch.zeros(3))
w.requires_grad = False
w[0] = 1.0
w += 2
lin = nn.Linear(3, 3)
lin.weight.requires_grad_(False)
lin.weight.zero_()
lin.requires_grad_(False)
lin.bias.fill_(0)


def grow(buf, m):
    buf.copy_(m(torch.randn(2, 3)))


b = torch.zeros(2, 3)
grow(b, lin)
from elsewhere import fill

c = torch.zeros(2, 3)
fill(c, lin)
c.mean().backward()
""",
}


def found(text: str) -> list[tuple[str, int]]:
    """Kinds of violations, and the lines behind the imports that they are on."""
    source = Source("train.py", IMPORTS + text)
    before = IMPORTS.count("\n")
    return [(one.name, getattr(one.node, "lineno", 0) - before) for one in violations_of(source)]


@pytest.mark.parametrize("text", HEALTHY.values(), ids=HEALTHY.keys())
def test_nothing_is_said_of(text: str) -> None:
    assert found(text) == []


FAULTY = {
    "a width through a settings class and a function": (
        """
from dataclasses import dataclass


@dataclass
class Settings:
    width: int = 32
    classes: int = 4


def build(settings):
    body = nn.Sequential(nn.Linear(8, settings.width), nn.ReLU())
    return nn.Sequential(body, nn.Linear(24, settings.classes))


build(Settings())(torch.randn(4, 8))
""",
        [("layer_width", 13)],
    ),
    "a model that nobody calls here": (
        """
class Net(nn.Module):
    def __init__(self, inputs):
        super().__init__()
        self.first = nn.Linear(inputs, 64)
        self.last = nn.Linear(128, 2)

    def forward(self, x):
        return self.last(torch.relu(self.first(x)))
""",
        [("layer_width", 9)],
    ),
    "a flattened map, by the sizes of a dataset": (
        """
class Pictures(Dataset):
    def __getitem__(self, index):
        return torch.rand(1, 28, 28), index % 10


net = nn.Sequential(
    nn.Conv2d(1, 8, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(8 * 12 * 12, 10)
)
for pictures, labels in DataLoader(Pictures(), batch_size=16):
    F.cross_entropy(net(pictures), labels).backward()
""",
        [("layer_width", 8)],
    ),
    "a dict of settings, and a check of its own": (
        """
settings = {"width": 100, "heads": 8}


class Attention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        if width % heads != 0:
            raise ValueError("it does not divide")


Attention(**settings)
""",
        [("indivisible_width", 8)],
    ),
    "one loss, two calls": (
        """
model = nn.Linear(3, 1)
loss = model(torch.randn(4, 3)).pow(2).mean()
loss.backward()
loss.backward()
""",
        [("graph_used_up", 5)],
    ),
    "a running mean of losses with their graphs": (
        """
model = nn.Linear(3, 1)
running = 0.0
for _ in range(10):
    loss = torch.tanh(model(torch.randn(4, 3))).mean()
    running = 0.9 * running + 0.1 * loss
    running.backward()
""",
        [("graph_used_up", 7)],
    ),
    "a function that gives back a number": (
        """
def loss_of(model, rows):
    return F.mse_loss(model(rows), rows).item()


model = nn.Linear(3, 3)
loss = torch.tensor(loss_of(model, torch.randn(4, 3)))
loss.backward()
""",
        [("no_graph", 8)],
    ),
    "a switch that nobody takes back": (
        """
def evaluate(model):
    torch.set_grad_enabled(False)
    print(model(torch.randn(4, 3)).mean())


model = nn.Linear(3, 1)
evaluate(model)
model(torch.randn(4, 3)).mean().backward()
""",
        [("no_graph", 9)],
    ),
    "heads that are put together again by a view": (
        """
class Attention(nn.Module):
    def __init__(self, width=16, heads=4):
        super().__init__()
        self.heads = heads
        self.all = nn.Linear(width, width)

    def forward(self, x):
        rows, places, width = x.shape
        parts = self.all(x).view(rows, places, self.heads, -1).transpose(1, 2)
        mixed = (parts @ parts.transpose(-2, -1)).softmax(-1) @ parts
        mixed.transpose(1, 2).contiguous().view(rows, places, width)
        mixed.transpose(1, 2).reshape(rows, places, width)
        x[:, :, :8].view(rows, places, 2, 4)
        return mixed.transpose(1, 2).view(rows, places, width)


for (x,) in DataLoader(TensorDataset(torch.randn(32, 5, 16)), batch_size=4):
    Attention()(x)
""",
        [("not_contiguous", 15)],
    ),
    "columns that another function cuts off": (
        """
def shifted(labels):
    return labels[:, 1:]


shifted(torch.randint(0, 9, (4, 7))).view(-1)
""",
        [("not_contiguous", 6)],
    ),
    "numbers of numpy": (
        """
import numpy as np


class Rows(Dataset):
    def __init__(self):
        self.values = np.random.default_rng(0).normal(size=(50, 6))

    def __getitem__(self, index):
        return torch.from_numpy(self.values[index]), index % 2


model = nn.Linear(6, 2)
for rows, labels in DataLoader(Rows(), batch_size=5):
    model(rows.float())
    model(rows)
""",
        [("two_dtypes", 16)],
    ),
    "a checkpoint in memory": (
        """
import io

model = nn.Sequential(nn.Linear(3, 4), nn.Linear(4, 2))
file = io.BytesIO()
torch.save({"model": model.state_dict()}, file)
nn.Sequential(nn.Linear(3, 4), nn.Linear(4, 5)).load_state_dict(
    torch.load(io.BytesIO(file.getvalue()))["model"]
)
""",
        [("state_dict_names", 7)],
    ),
    "an optimizer of another model": (
        """
teacher, student = nn.Linear(3, 2), nn.Linear(3, 2)
optimizer = torch.optim.SGD(teacher.parameters(), lr=0.1)
for _ in range(4):
    rows = torch.randn(5, 3)
    loss = F.mse_loss(student(rows), teacher(rows).detach())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
""",
        [("nothing_held_learns", 9)],
    ),
    "a statement that moves nothing": (
        """
x = torch.randn(4, 3)
x.to("cuda")
""",
        [("move_dropped", 3)],
    ),
    "a plain tensor that a cast model cannot take": (
        """
model = nn.Linear(3, 1).to(torch.bfloat16)
model(torch.randn(4, 3))
""",
        [("two_dtypes", 3)],
    ),
    "a coarse type and a small rate": (
        """
model = nn.Linear(3, 1).bfloat16()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-6)
""",
        [("updates_rounded", 3)],
    ),
}


@pytest.mark.parametrize(("text", "wanted"), FAULTY.values(), ids=FAULTY.keys())
def test_a_fault_is_found(text: str, wanted: list[tuple[str, int]]) -> None:
    assert found(text) == wanted


UNSURE = {
    "a branch that may not be taken": """
import sys

layer = nn.Linear(4, 2)
if len(sys.argv) > 1:
    layer(torch.randn(3, 5))
""",
    "a list that another function fills": """
from elsewhere import fill

sizes = [4, 2]
fill(sizes)
nn.Linear(sizes[0], 2)(torch.randn(3, 5))
""",
    "a name that a loop may have changed": """
from elsewhere import rows

width = 4
for row in rows:
    if row.wide:
        width = 5
        break
nn.Linear(width, 2)(torch.randn(3, 5))
""",
    "a list that is as long as an argument says": """
def build(depth):
    layers = []
    for _ in range(depth):
        layers.append(nn.Linear(4, 4))
    if len(layers) == 2:
        layers.append(nn.Linear(5, 4))
    return nn.Sequential(*layers)


build(int(input()))(torch.randn(3, 4))
""",
    "a loop that may not be entered": """
from elsewhere import rows

width = 5
for row in rows:
    width = 4
nn.Linear(width, 2)(torch.randn(3, 5))
""",
    "a layer that is put in behind the model's back": """
model = nn.Sequential(nn.Linear(4, 2))
model._modules["0"] = nn.Linear(5, 2)
model(torch.randn(3, 5))
""",
    "rows that a wrapper moves": """
model = nn.DataParallel(nn.Linear(4, 2)).cuda()
model(torch.randn(3, 4))
""",
    "a model that another function changes": """
from elsewhere import shrink

model = nn.Sequential(nn.Linear(4, 2))
shrink(model)
model(torch.randn(3, 5))
""",
    "what a handler may have set": """
from elsewhere import read

width = 4
try:
    width = read()
except OSError:
    width = 5
nn.Linear(width, 2)(torch.randn(3, 5))
""",
}


@pytest.mark.parametrize("text", UNSURE.values(), ids=UNSURE.keys())
def test_what_is_not_certain_is_not_said(text: str) -> None:
    assert found(text) == []


def test_a_long_script_is_read_in_time() -> None:
    steps = "\n".join(
        f"x{n} = nn.Linear({n}, {n + 1})(torch.randn(2, {n}))" for n in range(1, 1001)
    )
    assert found(steps) == []
    assert (
        found("\n".join(["while True:", "    pass", *["def f(x): return f(f(x))", "f(1)"]])) == []
    )
