"""Losses of a student and its teacher, as each library computes them, there and back.

Each function is given the workload and gives another, which is measured: it leaves gradients in the
student's hidden states and head, and gives the mean loss over supervised places. Libraries are
imported where they are used: each is measured in a process of its own.
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch
import torch.nn.functional as F

from benchmarks.distilling.workload import ALPHA, TEMPERATURE, Workload
from benchmarks.loading.environments import Environment

LIGER = Environment("liger", ("liger-kernel==0.8.5",), "distilling")
KEPT = 64

Pass = Callable[[], float | None]


@dataclass(frozen=True, slots=True)
class Contender:
    """A loss, what it is called, and where it runs."""

    title: str
    contains: str
    prepare: Callable[[Workload], Pass]
    environment: Environment | None = None
    packages: tuple[str, ...] = ()
    """Whose versions are written down beside torch's."""


def backward(loss: torch.Tensor) -> float:
    loss.backward()
    return float(loss.detach())


def full_logits(given: Workload) -> Pass:
    """With as few logits as autograd allows: masked places are taken out only if there are any."""

    def run() -> float:
        own = F.linear(given.hidden, given.weight)
        with torch.no_grad():
            log_p = F.log_softmax(
                F.linear(given.teacher_hidden, given.teacher_weight) / TEMPERATURE, -1
            )
        entropy = F.cross_entropy(own, given.labels, reduction="sum")
        log_q = F.log_softmax(own / TEMPERATURE, -1)
        if given.supervised.all():
            apart = F.kl_div(log_q, log_p, reduction="sum", log_target=True)
        else:
            each = F.kl_div(log_q, log_p, reduction="none", log_target=True)
            apart = each.sum(-1)[given.supervised].sum()
        total = (1 - ALPHA) * entropy + ALPHA * TEMPERATURE**2 * apart
        return backward(total / given.count)

    return run


def gathered_logits(given: Workload) -> Pass:
    """As above, of supervised places only."""

    def run() -> float:
        chosen = given.supervised
        own = F.linear(given.hidden[chosen], given.weight)
        with torch.no_grad():
            of_teacher = F.linear(given.teacher_hidden[chosen], given.teacher_weight)
            log_p = F.log_softmax(of_teacher / TEMPERATURE, -1)
            del of_teacher
        entropy = F.cross_entropy(own, given.labels[chosen], reduction="sum")
        log_q = F.log_softmax(own / TEMPERATURE, -1)
        apart = F.kl_div(log_q, log_p, reduction="sum", log_target=True)
        total = (1 - ALPHA) * entropy + ALPHA * TEMPERATURE**2 * apart
        return backward(total / given.count)

    return run


def products_alone(given: Workload, with_teacher: bool = True) -> Pass:
    """The products of which every such loss is made, over supervised places, in chunks."""
    from surefit.losses.chunks import ChunkLogits, parts
    from surefit.losses.places import CHUNK
    from surefit.losses.teacher import Head

    chosen = given.supervised

    @torch.no_grad()
    def run() -> None:
        hidden, of_teacher = given.hidden[chosen], given.teacher_hidden[chosen]
        own = ChunkLogits(hidden, Head(given.weight), CHUNK, 1.0)
        said = ChunkLogits(of_teacher, Head(given.teacher_weight), CHUNK, 1.0)
        to_weight = torch.zeros_like(given.weight)
        for part in parts(len(hidden), CHUNK):
            if with_teacher:
                said.of(part)
            error = own.of(part)
            torch.mm(error, given.weight)
            to_weight.addmm_(error.T, hidden[part])

    return run


def surefit(given: Workload, objective: str = "forward-kl", k: int | None = None) -> Pass:
    from surefit.losses.distillation import FromHidden, Head, head_distillation
    from surefit.losses.divergence import Divergence
    from surefit.losses.top_k import top_k_of

    how = Divergence(objective, TEMPERATURE)  # type: ignore[arg-type]
    chosen = given.supervised
    targets = given.labels[chosen]
    kept = None
    if k is not None:
        head = Head(given.teacher_weight)
        kept = top_k_of(given.teacher_hidden[chosen], head, targets, k, TEMPERATURE)

    def run() -> float:
        said = kept or FromHidden(given.teacher_hidden[chosen], Head(given.teacher_weight))
        found = head_distillation(
            given.hidden[chosen], Head(given.weight), said, targets, how, ALPHA
        )
        return backward(found.loss / given.count)

    return run


def trl_gkd(given: Workload, beta: float) -> Pass:
    from trl.experimental.gkd import GKDTrainer

    def run() -> float:
        own = F.linear(given.hidden, given.weight)
        with torch.no_grad():
            of_teacher = F.linear(given.teacher_hidden, given.teacher_weight)
        loss = GKDTrainer.generalized_jsd_loss(  # type: ignore[no-untyped-call]
            own[None], of_teacher[None], given.labels[None], beta, TEMPERATURE
        )
        return backward(loss)

    return run


def trl_chunked(given: Workload, beta: float) -> Pass:
    from trl.trainer.distillation_trainer import _chunked_divergence_loss

    def run() -> float:
        loss, *_ = _chunked_divergence_loss(
            given.hidden[None],
            given.teacher_hidden[None],
            given.weight,
            given.teacher_weight,
            given.supervised[None],
            beta,
            temperature=TEMPERATURE,
        )
        return backward(loss)

    return run


def liger(given: Workload, beta: float, chunk: int) -> Pass:
    """It leaves out the square of the temperature: the weight makes up for it."""
    from liger_kernel.chunked_loss import LigerFusedLinearJSDLoss

    loss = LigerFusedLinearJSDLoss(
        weight_hard_loss=1 - ALPHA,
        weight_soft_loss=ALPHA * TEMPERATURE**2,
        beta=beta,
        temperature=TEMPERATURE,
        compiled=False,
        chunk_size=chunk,
    )

    def run() -> float:
        return backward(
            loss(
                given.hidden, given.weight, given.teacher_hidden, given.teacher_weight, given.labels
            )
        )

    return run


BOTH, KL, JSD = "KL + CE", "KL", "JSD"
CONTENDERS = {
    "limit": Contender("the four matrix products alone, in chunks", "", products_alone),
    "limit-kept": Contender(
        "the same without the teacher's", "", lambda w: products_alone(w, with_teacher=False)
    ),
    "naive": Contender("log_softmax, kl_div, cross_entropy of all logits", BOTH, full_logits),
    "gathered": Contender("the same of supervised places", BOTH, gathered_logits),
    "surefit": Contender("**surefit**", BOTH, surefit),
    "surefit-top-64": Contender(
        f"**surefit**, top {KEPT} of the teacher kept", BOTH, lambda w: surefit(w, k=KEPT)
    ),
    "surefit-jsd": Contender("**surefit**", "JSD + CE", lambda w: surefit(w, "jsd")),
    "trl-gkd": Contender("TRL GKD", KL, lambda w: trl_gkd(w, 0.0), None, ("trl",)),
    "trl-gkd-jsd": Contender("TRL GKD", JSD, lambda w: trl_gkd(w, 0.5), None, ("trl",)),
    "trl": Contender(
        "TRL DistillationTrainer, without Triton", KL, lambda w: trl_chunked(w, 0.0), None, ("trl",)
    ),
    "liger": Contender(
        "Liger, chunks of 1024 (its default)",
        BOTH,
        lambda w: liger(w, 0.0, 1024),
        LIGER,
        ("liger-kernel",),
    ),
    "liger-256": Contender(
        "Liger, chunks of 256", BOTH, lambda w: liger(w, 0.0, 256), LIGER, ("liger-kernel",)
    ),
}
