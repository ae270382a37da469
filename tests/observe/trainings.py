"""Small trainings of many kinds, to be run in a process of their own; see run_trainings.py."""

import copy
import gc
import io
import os
import pickle
import signal
import sys
import threading
import traceback
import warnings
import weakref
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint
from torch.utils.data import DataLoader, Dataset

Training = Callable[[], Any]
TRAININGS: dict[str, Training] = {}


def training(run: Training) -> Training:
    TRAININGS[run.__name__] = run
    return run


def net() -> nn.Sequential:
    return nn.Sequential(nn.Linear(6, 16), nn.Tanh(), nn.Linear(16, 3))


def data(rows: int = 32) -> tuple[Tensor, Tensor]:
    return torch.randn(rows, 6), torch.randint(0, 3, (rows,))


@training
def plain_loop() -> Any:
    model, unused = net(), nn.Linear(2, 2)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    x, y = data()
    losses = []
    for step in range(12):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y, ignore_index=2)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        losses.append(loss.item())
        if step % 6 == 5:
            model.eval()
            with torch.no_grad():
                losses.append(sum(F.cross_entropy(model(x), y).item() for _ in range(3)))
            model.train()
    return model, unused, losses


@training
def mixed_precision() -> Any:
    model = net()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)
    x, y = data()
    losses = []
    for step in range(6):
        optimizer.zero_grad()
        with torch.autocast("cpu", dtype=torch.bfloat16):
            loss = F.cross_entropy(model(x), y)
            if step == 3:
                loss = loss * float("inf")
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
        losses.append(loss.item())
    return model, losses, scaler.get_scale()


@training
def scaler_with_fused_step() -> Any:
    model = net()
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.1, fused=True)
    scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)
    x, y = data()
    for step in range(4):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y) * (float("inf") if step == 1 else 1.0)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
    return model, scaler.get_scale()


@training
def disabled_scaler() -> Any:
    model = net()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    scaler = torch.amp.GradScaler("cpu", enabled=False)
    x, y = data()
    for _ in range(3):
        optimizer.zero_grad()
        scaler.scale(F.cross_entropy(model(x), y)).backward()
        scaler.step(optimizer)
        scaler.update()
    return model


@training
def accumulation() -> Any:
    model = net()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    schedule = torch.optim.lr_scheduler.LinearLR(optimizer, 0.1, 1.0, 10)
    x, y = data(64)
    for _ in range(5):
        for part in range(4):
            rows = slice(part * 16, part * 16 + 16)
            (F.cross_entropy(model(x[rows]), y[rows]) / 4).backward()
        optimizer.step()
        optimizer.zero_grad()
        schedule.step()
    return model


@training
def closure() -> Any:
    model = net()
    optimizer = torch.optim.LBFGS(model.parameters(), lr=0.5, max_iter=4)
    x, y = data()

    def evaluate() -> Tensor:
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        return loss

    for _ in range(3):
        optimizer.step(evaluate)
    return model


@training
def closure_of_an_ordinary_optimizer() -> Any:
    model = net()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
    x, y = data()

    def evaluate() -> Tensor:
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        return loss

    for _ in range(3):
        optimizer.step(closure=evaluate)
    return model


@training
def adversaries() -> Any:
    maker, judge = nn.Linear(4, 6), nn.Linear(6, 1)
    make = torch.optim.Adam(maker.parameters(), lr=1e-3)
    judging = torch.optim.Adam(judge.parameters(), lr=1e-3)
    real = torch.randn(16, 6)
    for _ in range(8):
        fake = maker(torch.randn(16, 4))
        judging.zero_grad()
        wrong = F.binary_cross_entropy_with_logits(judge(fake.detach()), torch.zeros(16, 1))
        right = F.binary_cross_entropy_with_logits(judge(real), torch.ones(16, 1))
        (wrong + right).backward()
        judging.step()
        make.zero_grad()
        F.binary_cross_entropy_with_logits(judge(fake), torch.ones(16, 1)).backward()
        make.step()
    return maker, judge


@training
def compiled() -> Any:
    torch._dynamo.reset()
    torch._dynamo.utils.counters.clear()
    model = net()
    fast = torch.compile(model, backend="aot_eager", fullgraph=True)
    wrapped = nn.Sequential(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    x, y = data()

    @torch.compile(backend="aot_eager", fullgraph=True)
    def loss_of(logits: Tensor) -> Tensor:
        return F.cross_entropy(logits, y) + F.mse_loss(logits, torch.zeros_like(logits))

    for step in range(6):
        optimizer.zero_grad()
        loss = loss_of(fast(x))
        if step % 2:
            loss = loss + wrapped(x).mean()
        loss.backward()
        optimizer.step()
    counted = torch._dynamo.utils.counters
    return model, sorted(counted["stats"].items()), sum(counted["graph_break"].values())


@training
def compiled_step() -> Any:
    torch._dynamo.reset()
    torch._dynamo.utils.counters.clear()
    model = net()
    model.compile(backend="aot_eager", fullgraph=True)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, foreach=True)
    step = torch.compile(optimizer.step, backend="aot_eager")
    x, y = data()

    @torch.compile(backend="aot_eager")
    def train() -> Tensor:
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        return loss

    for _ in range(4):
        train()
        step()
    counted = torch._dynamo.utils.counters
    return model, sorted(counted["stats"].items()), sum(counted["graph_break"].values())


class Rows(Dataset[tuple[Tensor, Tensor]]):
    """Each row is drawn when it is read."""

    def __init__(self) -> None:
        self.squash = nn.Linear(6, 6).requires_grad_(False)

    def __len__(self) -> int:
        return 48

    def __getitem__(self, row: int) -> tuple[Tensor, Tensor]:
        return self.squash(torch.randn(6)), torch.tensor(row % 3)


@training
def workers() -> Any:
    model = net()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    loader = DataLoader(Rows(), batch_size=16, shuffle=True, num_workers=2)
    for _ in range(2):
        for x, y in loader:
            optimizer.zero_grad()
            F.cross_entropy(model(x), y).backward()
            optimizer.step()
    return model


@training
def copies() -> Any:
    model = net()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    x, y = data()
    for _ in range(2):
        optimizer.zero_grad()
        F.cross_entropy(model(x), y).backward()
        optimizer.step()
    twin = copy.deepcopy(model)
    twins = torch.optim.AdamW(twin.parameters(), lr=1e-2)
    for _ in range(3):
        twins.zero_grad()
        F.cross_entropy(twin(x), y).backward()
        twins.step()
    saved = io.BytesIO()
    torch.save({"model": twin, "optimizer": twins, "state": twins.state_dict()}, saved)
    again = copy.deepcopy(twins)
    kept = sorted(vars(model)), sorted(vars(model[0])), sorted(vars(again))
    pickled = pickle.dumps([F.cross_entropy, torch.autograd.backward, type(model)])
    return twin, len(saved.getvalue()), kept, pickled, pickle.loads(pickle.dumps(model))


@training
def lazy_layers() -> Any:
    model = nn.Sequential(nn.LazyLinear(8), nn.ReLU(), nn.LazyLinear(3))
    x, y = data()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        optimizer.zero_grad()
        F.cross_entropy(model(x), y).backward()
        optimizer.step()
    return model


@training
def sparse_gradients() -> Any:
    table = nn.Embedding(50, 8, sparse=True)
    head = nn.Linear(8, 3)
    sparse = torch.optim.SparseAdam(table.parameters(), lr=0.1)
    dense = torch.optim.SGD(head.parameters(), lr=0.1)
    ids, y = torch.randint(0, 50, (16,)), torch.randint(0, 3, (16,))
    for _ in range(4):
        sparse.zero_grad()
        dense.zero_grad()
        F.cross_entropy(head(table(ids)), y).backward()
        sparse.step()
        dense.step()
    return table, head


class HidesLayers(nn.Module):
    """Its middle layers are in a plain list."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(6, 8)
        self.middle = [nn.Linear(8, 8), nn.Linear(8, 8)]
        self.last = nn.Linear(8, 3)

    def forward(self, x: Tensor) -> Tensor:
        x = self.first(x)
        for layer in self.middle:
            x = layer(x).relu()
        logits: Tensor = self.last(x)
        return logits


@training
def layers_in_a_list() -> Any:
    model = HidesLayers()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    x, y = data()
    twins = []
    for _ in range(5):
        optimizer.zero_grad()
        F.cross_entropy(model(x), y).backward()
        optimizer.step()
        twin = pickle.loads(pickle.dumps(copy.deepcopy(model)))
        twins += [twin, list(twin.middle)]
    return model, model.middle, twins


@training
def head_swapped_after_the_optimizer() -> Any:
    model = net()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    x, y = data()
    for step in range(8):
        if step == 3:
            model[2] = nn.Linear(16, 3)
        optimizer.zero_grad()
        F.cross_entropy(model(x), y).backward()
        optimizer.step()
    return model


@training
def teacher_with_old_gradients() -> Any:
    teacher, student = net(), net()
    x, y = data()
    early = torch.optim.SGD(teacher.parameters(), lr=0.1)
    for _ in range(3):
        early.zero_grad()
        F.cross_entropy(teacher(x), y).backward()
        early.step()
    del early
    optimizer = torch.optim.SGD(student.parameters(), lr=0.1)
    for _ in range(6):
        with torch.no_grad():
            target = teacher(x).softmax(-1)
        optimizer.zero_grad()
        F.kl_div(student(x).log_softmax(-1), target, reduction="batchmean").backward()
        optimizer.step()
    return teacher, student


@training
def updates_by_hand() -> Any:
    model, beside = net(), nn.Linear(3, 3)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    x, y = data()
    for _ in range(6):
        optimizer.zero_grad()
        beside.zero_grad()
        F.cross_entropy(beside(model(x)), y).backward()
        optimizer.step()
        with torch.no_grad():
            for parameter in beside.parameters():
                assert parameter.grad is not None
                parameter.sub_(parameter.grad, alpha=0.1)
    return model, beside


@training
def frozen_and_held_later() -> Any:
    body, head = nn.Linear(6, 16), nn.Linear(16, 3)
    x, y = data()
    optimizer = torch.optim.SGD(head.parameters(), lr=0.1)
    for parameter in body.parameters():
        parameter.requires_grad_(False)
    for step in range(9):
        if step == 4:
            for parameter in body.parameters():
                parameter.requires_grad_(True)
            optimizer.add_param_group({"params": list(body.parameters()), "lr": 0.01})
        optimizer.zero_grad()
        F.cross_entropy(head(body(x).relu()), y).backward()
        optimizer.step()
    return body, head


@training
def rounded_away() -> Any:
    model = net().to(torch.bfloat16)
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-6, weight_decay=0.0)
    x, y = data()
    for _ in range(6):
        optimizer.zero_grad()
        F.cross_entropy(model(x.bfloat16()), y).backward()
        optimizer.step()
    return model


@training
def saturated() -> Any:
    model = net()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    x, y = data()
    for _ in range(4):
        optimizer.zero_grad()
        F.cross_entropy((model(x) - 60).clamp(-10, 10), y).backward()
        optimizer.step()
    return model


@training
def not_finite() -> Any:
    model = net()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.0)
    x, y = data()
    for step in range(4):
        optimizer.zero_grad()
        scale = 3e38 if step < 2 else float("nan")  # squares of finite gradients overflow as well
        (F.cross_entropy(model(x), y) * scale).backward()
        optimizer.step()
    return model


@training
def cleared_before_the_step() -> Any:
    model = net()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    x, y = data()
    for _ in range(7):
        F.cross_entropy(model(x).softmax(-1), y).backward()
        optimizer.zero_grad()
        optimizer.step()
    return model


class TakesLabels(nn.Module):
    """As transformers' models do."""

    def __init__(self) -> None:
        super().__init__()
        self.head = nn.Linear(6, 3)

    def forward(self, batch: Any = None, **inputs: Any) -> Tensor:
        inputs = inputs or batch
        return F.cross_entropy(self.head(inputs["x"]).flatten(0, 1), inputs["labels"].flatten())


@training
def labels_in_the_batch() -> Any:
    model = TakesLabels()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    x = torch.randn(4, 5, 6)
    labels = torch.randint(0, 3, (4, 5))
    labels[:, :2] = -100
    for step in range(20):
        optimizer.zero_grad()
        inputs = {"x": x, "labels": labels}
        (model(**inputs) if step % 2 else model(inputs)).backward()
        optimizer.step()
    model.eval()
    return model, model(x=x, labels=labels)


class Told(torch.overrides.TorchFunctionMode):
    """Writes down every function that it is told of."""

    def __init__(self) -> None:
        self.names: list[str] = []

    def __torch_function__(
        self, function: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        self.names.append(torch.overrides.resolve_name(function) or str(function))
        return function(*args, **(kwargs or {}))


class Dispatched(torch.utils._python_dispatch.TorchDispatchMode):
    """Writes down every operation that reaches it."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.names: list[str] = []

    def __torch_dispatch__(
        self, function: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        self.names.append(str(function))
        return function(*args, **(kwargs or {}))


@training
def under_modes_of_the_user() -> Any:
    model = net()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    x, y = data()
    said = []
    for mode in (Told(), Dispatched()):
        with mode:
            for _ in range(3):
                optimizer.zero_grad()
                F.cross_entropy(model(x), y).backward()
                optimizer.step()
        said.append(mode.names)
    return model, said


@training
def checkpointed() -> Any:
    body, head = net(), nn.Linear(3, 3)
    whole = nn.Sequential(body, head)
    optimizer = torch.optim.SGD(whole.parameters(), lr=0.1)
    x, y = data()
    for _ in range(3):
        optimizer.zero_grad()
        F.cross_entropy(head(checkpoint(body, x, use_reentrant=False)), y).backward()
        optimizer.step()
    return whole


@training
def warned_and_raised() -> Any:
    model = nn.Sequential(nn.Linear(2, 2))
    said: list[Any] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        F.mse_loss(torch.ones(3, 1), torch.ones(3))
    said += [(warning.filename, warning.lineno) for warning in caught]
    try:
        model(torch.ones(3, 3))
    except RuntimeError:
        said.append(traceback.format_exc())
    model.eval()
    with torch.no_grad():
        model(torch.ones(3, 2))
    return said


class Distilling(nn.Module):
    """Calls a teacher that is handed to it."""

    def __init__(self) -> None:
        super().__init__()
        self.student = nn.Linear(6, 3)

    def forward(self, x: Tensor, teacher: nn.Module) -> Tensor:
        return F.mse_loss(self.student(x), teacher(x))


@training
def teachers() -> Any:
    called, idle, model = net().eval(), nn.Linear(6, 3), Distilling()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    x, _ = data()
    for _ in range(4):
        optimizer.zero_grad()
        model(x, called).backward()
        optimizer.step()
    return called, idle, model


class Twice(torch.optim.Optimizer):
    """An optimizer around another one, whose step can fail."""

    def __init__(self, inner: torch.optim.Optimizer) -> None:
        super().__init__(inner.param_groups, {})
        self.inner = inner
        self.fails = False

    def step(self, closure: Any = None) -> Any:
        if self.fails:
            raise ValueError("as asked")
        return self.inner.step(closure)


@training
def nested_and_failing_steps() -> Any:
    model, other = net(), net()
    optimizer = Twice(torch.optim.SGD(model.parameters(), lr=0.1))
    plain = torch.optim.SGD(other.parameters(), lr=0.1)
    x, y = data()
    for step in range(6):
        optimizer.zero_grad()
        plain.zero_grad()
        (F.cross_entropy(model(x), y) + F.cross_entropy(other(x), y)).backward()
        optimizer.fails = step == 2
        try:
            optimizer.step()
        except ValueError:
            plain.step()
    return model, other


@training
def step_that_fails_for_good() -> Any:
    """What the optimizer held can be freed when the user lets go of it."""
    model = net()
    optimizer = Twice(torch.optim.SGD(model.parameters(), lr=0.1))
    x, y = data()
    F.cross_entropy(model(x), y).backward()
    optimizer.fails = True
    with suppress(ValueError):
        optimizer.step()
    alive = [weakref.ref(one) for one in (model, model[0].weight, optimizer)]
    del model, optimizer
    gc.collect()
    return [reference() is None for reference in alive]


@training
def evaluation_in_a_thread() -> Any:
    """While the other thread trains; both come to the same numbers in any order."""
    model, other = net(), net().eval()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    x, y = data()
    begun, done = threading.Event(), threading.Event()
    said = []

    def evaluate() -> None:
        begun.wait()
        with torch.no_grad():
            said.append([other(x) for _ in range(200)][-1])
        done.set()

    thread = threading.Thread(target=evaluate)
    thread.start()
    for step in range(20):
        if step == 5:
            begun.set()
        if step == 15:
            done.wait()
        optimizer.zero_grad()
        F.cross_entropy(model(x), y).backward()
        optimizer.step()
    thread.join()
    return model, said


@training
def transformed() -> Any:
    model = net()
    weights = {name: one.detach() for name, one in model.named_parameters()}
    x, y = data(8)

    def loss(weights: Any, row: Tensor, label: Tensor) -> Tensor:
        logits = torch.func.functional_call(model, weights, (row.unsqueeze(0),))
        return F.cross_entropy(logits, label.unsqueeze(0))

    each = torch.func.vmap(torch.func.grad(loss), in_dims=(None, 0, 0))(weights, x, y)
    return [each[name] for name in sorted(each)]


@torch.jit.script
def scripted_loss(logits: Tensor, labels: Tensor) -> Tensor:
    return torch.nn.functional.cross_entropy(logits, labels)


@training
def scripted_and_traced() -> Any:
    model = net()
    x, y = data(8)

    class Scored(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.model = model

        def forward(self, x: Tensor) -> Tensor:
            return F.mse_loss(self.model(x), torch.zeros(8, 3))

    traced = torch.jit.trace(Scored(), (x,))
    script = torch.jit.script(model)
    symbolic = torch.fx.symbolic_trace(model)
    graph = str(traced.graph).split("\n")
    operations = [line.split("=")[1].split("(")[0] for line in graph if "aten::" in line]
    return scripted_loss(script(x), y), operations, symbolic.code, symbolic(x)


@training
def forked() -> Any:
    """The child trains on its own, and says so on its own."""
    model = net()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    x, y = data()

    def train(count: int) -> None:
        for _ in range(count):
            optimizer.zero_grad()
            F.cross_entropy(model(x), y).backward()
            optimizer.step()

    train(3)
    child = os.fork()
    if not child:
        train(2)
        os._exit(0)
    os.waitpid(child, 0)
    train(1)
    return model


@training
def killed() -> Any:
    """In the middle of its third backward pass."""
    periodic = sys.modules.get("surefit.observe.inside.training.periodic")
    if periodic is not None:
        vars(periodic).update(SECONDS=0.0, COST=0.0)
    model = net()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    x, y = data()
    for step in range(3):
        optimizer.zero_grad()
        logits = model(x)
        if step == 2:
            logits.register_hook(lambda _: os.kill(os.getpid(), signal.SIGKILL))
        F.cross_entropy(logits, y).backward()
        optimizer.step()
