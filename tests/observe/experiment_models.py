"""Models on which experiments are made: healthy ones, and ones that break a law."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

ROWS, STEPS, WIDTH, TOKENS = 12, 10, 8, 30


@dataclass(frozen=True, slots=True)
class Setup:
    """A model and what it is called with."""

    module: nn.Module
    args: tuple[Any, ...]
    kwargs: dict[str, Any] = field(default_factory=dict)
    predicts: int | None = None
    """Number of the input whose next position the loss asks for."""
    loaded: bool = False
    """A loader gave these tensors, rows first."""


def series() -> Tensor:
    return torch.randn(ROWS, STEPS, WIDTH)


def tokens() -> Tensor:
    return torch.randint(1, TOKENS, (ROWS, STEPS))


def padded() -> tuple[Tensor, Tensor, Tensor]:
    """Ids, mask and lengths."""
    lengths = torch.randint(4, STEPS, (ROWS,))
    lengths[3] = STEPS
    mask = (torch.arange(STEPS) < lengths[:, None]).long()
    return tokens() * mask, mask, lengths


class Of(nn.Module):
    """Layers by name, and what is done with them."""

    def __init__(self, run: Callable[..., Any], **layers: nn.Module) -> None:
        super().__init__()
        self.run = run
        for name, layer in layers.items():
            self.add_module(name, layer)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return self.run(self, *args, **kwargs)


def unpacked(module: Any, ids: Tensor, lengths: Tensor) -> Tensor:
    """Outputs of rows that are packed, zero where there is padding."""
    rnn = nn.utils.rnn
    packed = rnn.pack_padded_sequence(
        module.table(ids), lengths, batch_first=True, enforce_sorted=False
    )
    out: Tensor = rnn.pad_packed_sequence(module.gru(packed)[0], batch_first=True)[0]
    return out


def linear(out: int = 3, width: int = WIDTH) -> nn.Linear:
    return nn.Linear(width, out)


def embedding() -> nn.Embedding:
    return nn.Embedding(TOKENS, WIDTH, padding_idx=0)


def attend(x: Tensor, hidden: Tensor | None) -> Tensor:
    scores = x @ x.transpose(1, 2) / math.sqrt(WIDTH)
    if hidden is not None:
        scores = scores.masked_fill(hidden, -1e9)
    return torch.softmax(scores, dim=-1) @ x


class Queue(nn.Module):
    """Remembers what it was given."""

    queue: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.layer = linear(WIDTH)
        self.register_buffer("queue", torch.randn(32, WIDTH))

    def forward(self, x: Tensor) -> Any:
        keys = self.layer(x)
        logits = keys @ self.queue.t()
        self.queue = torch.cat([keys.detach(), self.queue])[:32]
        return logits


class MaskedTagger(nn.Module):
    """Takes its mask as `mask`."""

    def __init__(self, how: str) -> None:
        super().__init__()
        self.how = how
        self.embed = embedding()
        self.recurrent = nn.LSTM(WIDTH, WIDTH, batch_first=True, bidirectional=True)
        self.forward_only = nn.GRU(WIDTH, WIDTH, batch_first=True)
        self.encoder = encoder(batch_first=True)
        self.head = linear()

    def attended(self, x: Tensor, hidden: Tensor) -> Any:
        """By a position that is joined before the others."""
        x = torch.cat([torch.ones(len(x), 1, WIDTH), x], dim=1)
        hidden = torch.cat([torch.zeros(len(x), 1, dtype=torch.bool), hidden], dim=1)
        return self.head(self.encoder(x, src_key_padding_mask=hidden)[:, 0])

    def forward(self, ids: Tensor, mask: Tensor) -> Any:
        x = self.embed(ids) + 0.1
        if self.how == "class token":
            return self.attended(x, mask == 0)
        if self.how == "class token, inverted":
            return self.attended(x, mask == 1)
        if self.how in ("last position", "own last position"):
            states = self.forward_only(x)[0]
            own = states[torch.arange(len(ids)), mask.sum(1) - 1]
            return self.head(states[:, -1] if self.how == "last position" else own)
        if self.how == "last state":
            return self.head(self.forward_only(x)[1][-1])
        if self.how == "recurrent":
            return self.head(self.recurrent(x)[0][..., :WIDTH])
        if self.how == "pooled":
            weights = mask.unsqueeze(-1)
            return self.head((x * weights).sum(1) / weights.sum(1))
        if self.how == "mean":
            return self.head(x.mean(1))
        hidden = {"masked": mask == 0, "inverted": mask == 1, "unmasked": None}[self.how]
        return self.head(attend(x, None if hidden is None else hidden.unsqueeze(1)))


class FindsPadding(nn.Module):
    """Makes its mask of the tokens."""

    def __init__(self) -> None:
        super().__init__()
        self.embed, self.head = embedding(), linear()

    def forward(self, ids: Tensor, mask: Tensor) -> Any:
        hidden = (ids == 0) | (mask == 0)
        return self.head(attend(self.embed(ids), hidden.unsqueeze(1)))


def causal(steps: int) -> Tensor:
    return torch.ones(steps, steps, dtype=torch.bool).triu(1)


def language_model(how: str) -> Setup:
    x = tokens()

    def run(self: Any, ids: Tensor) -> Any:
        h = self.embed(ids)
        if how == "lstm":
            h = self.recurrent(h)[0]
        elif how == "both ways":
            h = self.both(h)[0][..., WIDTH:]
        elif how == "sdpa":
            h = F.scaled_dot_product_attention(h, h, h, is_causal=True)
        else:
            h = attend(h, causal(ids.size(1)) if how == "masked" else None)
        return self.head(h)

    module = Of(
        run,
        embed=embedding(),
        recurrent=nn.LSTM(WIDTH, WIDTH, batch_first=True),
        both=nn.LSTM(WIDTH, WIDTH, batch_first=True, bidirectional=True),
        head=linear(TOKENS),
    )
    return Setup(module, (x,), predicts=0)


def encoder(**options: Any) -> nn.TransformerEncoder:
    layer = nn.TransformerEncoderLayer(WIDTH, 2, 16, **options)
    return nn.TransformerEncoder(layer, 1, enable_nested_tensor=False)


def turned(self: Any, x: Tensor) -> Any:
    """Steps first, as the layer takes them."""
    return self.head(self.recurrent(x.transpose(0, 1))[0][-1])


HEALTHY: dict[str, Callable[[], Setup]] = {
    "dense": lambda: Setup(nn.Sequential(linear(16), nn.ReLU(), linear(3, 16)), (series()[:, 0],)),
    "batch norm": lambda: Setup(
        nn.Sequential(linear(16), nn.BatchNorm1d(16), nn.Dropout(0.5), linear(3, 16)),
        (series()[:, 0],),
    ),
    "batch norm without statistics": lambda: Setup(
        nn.Sequential(linear(16), nn.BatchNorm1d(16, track_running_stats=False)),
        (series()[:, 0],),
    ),
    "pictures": lambda: Setup(
        nn.Sequential(nn.Conv2d(3, 4, 3), nn.GroupNorm(2, 4), nn.Flatten(), nn.Linear(4 * 36, 3)),
        (torch.randn(ROWS, 3, 8, 8),),
    ),
    "rows first": lambda: Setup(
        Of(
            lambda self, x: self.head(self.recurrent(x)[0][:, -1]),
            recurrent=nn.LSTM(WIDTH, 8, batch_first=True),
            head=linear(),
        ),
        (series(),),
    ),
    "steps first inside": lambda: Setup(
        Of(turned, recurrent=nn.GRU(WIDTH, 8), head=linear()), (series(),)
    ),
    "steps first outside": lambda: Setup(
        Of(lambda self, x: self.recurrent(x)[0], recurrent=nn.GRU(WIDTH, 8)),
        (series().transpose(0, 1),),
    ),
    "carried state": lambda: Setup(
        Of(
            lambda self, x, state: self.recurrent(x, state),
            recurrent=nn.GRU(WIDTH, 8, batch_first=True),
        ),
        (series(), torch.randn(1, ROWS, 8)),
    ),
    "two towers": lambda: Setup(
        Of(
            lambda self, a, b: F.normalize(self.one(a), dim=-1) @ self.two(b).t(),
            one=linear(),
            two=linear(),
        ),
        (series()[:, 0], series()[:, 1]),
    ),
    "contrastive loss of each row": lambda: Setup(
        Of(
            lambda self, a: torch.logsumexp(self.one(a) @ self.one(a).t(), dim=1),
            one=linear(),
        ),
        (series()[:, 0],),
    ),
    "in-batch negatives": lambda: Setup(
        Of(
            lambda self, a: (self.one(a) * self.one(a).roll(1, 0)).sum(-1),
            one=linear(),
        ),
        (series()[:, 0],),
    ),
    "shuffled negatives": lambda: Setup(
        Of(
            lambda self, a: (self.one(a) * self.one(a)[torch.randperm(len(a))]).sum(-1),
            one=linear(),
        ),
        (series()[:, 0],),
    ),
    "graph": lambda: Setup(
        Of(
            lambda self, x, edges: self.one(
                torch.zeros_like(x).index_add(0, edges[1], x[edges[0]])
            ),
            one=linear(),
        ),
        (series()[:, 0], torch.randint(0, ROWS, (2, 40))),
    ),
    "dense graph": lambda: Setup(
        Of(lambda self, x, near: self.one(near @ x), one=linear()),
        (series()[:, 0], torch.rand(ROWS, ROWS)),
    ),
    "nodes of several graphs": lambda: Setup(
        Of(
            lambda self, x, edges: self.one(
                torch.zeros_like(x).index_add(0, edges[1], x[edges[0]])
            ),
            one=linear(3, ROWS),
        ),
        (torch.randn(40, ROWS), torch.randint(0, 40, (2, 90))),
    ),
    "frames of several rows": lambda: Setup(
        nn.Conv2d(ROWS, 4, 3), (torch.randn(2 * ROWS, ROWS, 6, 6),)
    ),
    "sampling": lambda: Setup(
        Of(
            lambda self, x: self.two(self.one(x) + torch.randn(len(x), 3)),
            one=linear(),
            two=linear(2, 3),
        ),
        (series()[:, 0],),
    ),
    "queue": lambda: Setup(Queue(), (series()[:, 0],)),
    "minibatch statistics": lambda: Setup(
        Of(
            lambda self, x: self.one(torch.cat([x, x.std(0).mean().expand(len(x), 1)], dim=1)),
            one=linear(3, WIDTH + 1),
        ),
        (series()[:, 0],),
    ),
    "few shots": lambda: Setup(
        Of(
            lambda self, x: -torch.cdist(self.one(x), self.one(x[:4]).view(2, 2, -1).mean(1)),
            one=linear(),
        ),
        (series()[:, 0],),
    ),
    "routed experts": lambda: Setup(
        Of(
            lambda self, x: torch.zeros(len(x), 3).index_add(
                0, (at := (self.gate(x)[:, 0] > 0).nonzero()[:, 0]), self.one(x[at])
            ),
            gate=linear(1),
            one=linear(),
        ),
        (series()[:, 0],),
    ),
    "scaled by the largest": lambda: Setup(
        Of(lambda self, x: self.one(x / x.abs().max()) * x.abs().max(), one=linear()),
        (series()[:, 0],),
    ),
    "labels in the call": lambda: Setup(
        Of(
            lambda self, x, labels: {
                "loss": F.cross_entropy(self.one(x), labels),
                "logits": self.one(x),
            },
            one=linear(),
        ),
        (series()[:, 0],),
        {"labels": torch.randint(0, 3, (ROWS,))},
    ),
    "flattened outputs": lambda: Setup(
        Of(lambda self, x: self.one(x).view(-1, 3), one=linear()), (series(),)
    ),
    "encoder": lambda: Setup(
        Of(lambda self, x: self.inner(x).mean(1), inner=encoder(batch_first=True)), (series(),)
    ),
    "last step of unpacked rows": lambda: Setup(
        Of(
            lambda self, x, lengths: unpacked(self, x, lengths)[torch.arange(len(x)), lengths - 1],
            table=nn.Embedding(TOKENS, WIDTH, padding_idx=0),
            gru=nn.GRU(WIDTH, WIDTH, batch_first=True),
        ),
        padded()[::2],
    ),
    "packed": lambda: Setup(
        Of(
            lambda self, x, lengths: self.recurrent(
                nn.utils.rnn.pack_padded_sequence(
                    x, lengths, batch_first=True, enforce_sorted=False
                )
            )[1][0][-1],
            recurrent=nn.LSTM(WIDTH, 8, batch_first=True),
        ),
        (series(), padded()[2]),
    ),
    "masked": lambda: Setup(MaskedTagger("masked"), padded()[:2]),
    "masked mean": lambda: Setup(MaskedTagger("pooled"), padded()[:2]),
    "recurrent over padding": lambda: Setup(MaskedTagger("recurrent"), padded()[:2]),
    "class token": lambda: Setup(MaskedTagger("class token"), padded()[:2]),
    "own last position": lambda: Setup(MaskedTagger("own last position"), padded()[:2]),
    "last position of undeclared padding": lambda: Setup(
        Of(
            lambda self, x: self.head(self.recurrent(self.embed(x))[0][:, -1]),
            embed=nn.Embedding(TOKENS, WIDTH),
            recurrent=nn.GRU(WIDTH, WIDTH, batch_first=True),
            head=linear(),
        ),
        (padded()[0],),
    ),
    "finds padding itself": lambda: Setup(FindsPadding(), padded()[:2]),
    "causal attention": lambda: language_model("masked"),
    "causal sdpa": lambda: language_model("sdpa"),
    "causal lstm": lambda: language_model("lstm"),
}

BROKEN: dict[str, tuple[str, str, Callable[[], Setup]]] = {
    "recurrent along the batch": (
        "RowsMix",
        "lstm",
        lambda: Setup(
            Of(
                lambda self, x: self.head(self.recurrent(x)[0][:, -1]),
                recurrent=nn.LSTM(WIDTH, 8),
                head=linear(),
            ),
            (series(),),
        ),
    ),
    "attention along the batch": (
        "RowsMix",
        "multi_head_attention_forward",
        lambda: Setup(
            Of(
                lambda self, x: self.attention(x, x, x)[0],
                attention=nn.MultiheadAttention(WIDTH, 2),
            ),
            (series(),),
        ),
    ),
    "encoder along the batch": (
        "RowsMix",
        "",
        lambda: Setup(Of(lambda self, x: self.inner(x), inner=encoder()), (series(),)),
    ),
    "softmax over the batch": (
        "RowsMix",
        "softmax",
        lambda: Setup(nn.Sequential(linear(), nn.Softmax(dim=0)), (series()[:, 0],)),
    ),
    "mean over the batch": (
        "RowsMix",
        "mean",
        lambda: Setup(Of(lambda self, x: self.one(x - x.mean(0)), one=linear()), (series()[:, 0],)),
    ),
    "normalised over the batch": (
        "RowsMix",
        "normalize",
        lambda: Setup(
            Of(lambda self, x: self.one(F.normalize(x, dim=0)), one=linear()),
            (series()[:, 0],),
        ),
    ),
    "view": (
        "RowsMix",
        "view",
        lambda: Setup(
            Of(
                lambda self, x: self.one(
                    x.transpose(0, 1).contiguous().view(x.size(0), x.size(1), -1)
                ),
                one=linear(),
            ),
            (series(),),
        ),
    ),
    "heads split from the wrong axis": (
        "RowsMix",
        "reshape",
        lambda: Setup(
            Of(
                lambda self, x: self.one(x.transpose(0, 1).reshape(len(x), -1)),
                one=linear(3, STEPS * WIDTH),
            ),
            (series(),),
        ),
    ),
    "broadcast": (
        "RowsMix",
        "mul",
        lambda: Setup(
            Of(lambda self, x, w: self.one(x * w), one=linear(3, ROWS)),
            (torch.randn(ROWS, ROWS), torch.rand(ROWS)),
            loaded=True,
        ),
    ),
    "positions along the batch": (
        "RowOrderMatters",
        "add",
        lambda: Setup(
            Of(
                lambda self, x: self.one(x + self.table.weight[: len(x)].unsqueeze(1)),
                one=linear(),
                table=nn.Embedding(64, WIDTH),
            ),
            (series(),),
        ),
    ),
    "mask not used": (
        "PaddingIsSeen",
        "softmax",
        lambda: Setup(MaskedTagger("unmasked"), padded()[:2]),
    ),
    "mask inverted": (
        "PaddingIsSeen",
        "softmax",
        lambda: Setup(MaskedTagger("inverted"), padded()[:2]),
    ),
    "mask inverted, with a class token": (
        "PaddingIsSeen",
        "multi_head_attention_forward",
        lambda: Setup(MaskedTagger("class token, inverted"), padded()[:2]),
    ),
    "last position": (
        "ReadAfterPadding",
        "__getitem__",
        lambda: Setup(MaskedTagger("last position"), padded()[:2]),
    ),
    "last state": (
        "ReadAfterPadding",
        "gru",
        lambda: Setup(MaskedTagger("last state"), padded()[:2]),
    ),
    "last position of unpacked rows": (
        "ReadAfterPadding",
        "__getitem__",
        lambda: Setup(
            Of(
                lambda self, x, lengths: unpacked(self, x, lengths)[:, -1],
                table=nn.Embedding(TOKENS, WIDTH, padding_idx=0),
                gru=nn.GRU(WIDTH, WIDTH, batch_first=True),
            ),
            padded()[::2],
        ),
    ),
    "mean counts padding": (
        "PaddingIsSeen",
        "mean",
        lambda: Setup(MaskedTagger("mean"), padded()[:2]),
    ),
    "no causal mask": ("FutureIsSeen", "softmax", lambda: language_model("unmasked")),
    "both ways": ("FutureIsSeen", "lstm", lambda: language_model("both ways")),
}
