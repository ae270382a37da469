"""surefit's own fine-tuning, counted: its default, packed, or with the loss on all tokens."""

import inspect
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from .job import BATCH_SIZE, LEARNING_RATE, LORA_ALPHA, LORA_R, MAX_TOKENS, SEED, Job, read_job
from .meter import Meter

SET_UPS: dict[str, dict[str, Any]] = {
    "surefit": {},
    "surefit-packing": {"packing": True},
    "surefit-all": {"loss_on": "all"},
    "surefit-auto": {"precision": "auto"},
}


def settings_of(job: Job) -> dict[str, Any]:
    """No row is held out, as with the peers."""
    return {
        "model": job.model,
        "data": job.rows,
        "out": f"{job.folder}/{job.set_up}",
        "epochs": 1,
        "held_out": 0.0,
        "batch_size": BATCH_SIZE,
        "max_tokens": MAX_TOKENS,
        "learning_rate": LEARNING_RATE,
        "warmup": 0.0,
        "lora_r": LORA_R,
        "lora_alpha": LORA_ALPHA,
        "precision": "fp32",
        "threads": 1,
        "seed": SEED,
        **SET_UPS[job.set_up],
    }


@contextmanager
def watched(
    before_forward: Callable[[Mapping[str, Any]], object], after_step: Callable[[float], object]
) -> Iterator[None]:
    """Calls the one with the arguments of every forward pass, the other with every step's loss."""
    from surefit.losses.next_token import NextTokenLoss
    from surefit.train.record import RunFolder

    forward, add_step = NextTokenLoss.forward, RunFolder.add_step
    of_forward, of_step = inspect.signature(forward), inspect.signature(add_step)

    def watched_forward(*args: Any, **kwargs: Any) -> Any:
        before_forward(of_forward.bind(*args, **kwargs).arguments)
        return forward(*args, **kwargs)

    def watched_step(*args: Any, **kwargs: Any) -> None:
        add_step(*args, **kwargs)
        after_step(of_step.bind(*args, **kwargs).arguments["loss"])

    NextTokenLoss.forward = watched_forward  # type: ignore[method-assign]
    RunFolder.add_step = watched_step  # type: ignore[method-assign]
    try:
        yield
    finally:
        NextTokenLoss.forward = forward  # type: ignore[method-assign]
        RunFolder.add_step = add_step  # type: ignore[method-assign]


def watch_memory_from_first_forward(meter: Meter) -> None:
    """That of preflight, whose memory counts too."""
    from torch.nn.modules.module import register_module_forward_pre_hook

    def watch(*_: Any) -> None:
        hook.remove()
        meter.watch_memory()

    hook = register_module_forward_pre_hook(watch)


def main() -> None:
    job = read_job()
    import surefit

    meter, settings = Meter(job.pad_id), settings_of(job)

    def count(given: Mapping[str, Any]) -> None:
        # Steps begin when preflight has let the run folder be made.
        if meter.began is not None or Path(settings["out"], "settings.json").exists():
            meter.begin_step()
            meter.count(given["input_ids"], given["labels"], given.get("attention_mask"))

    watch_memory_from_first_forward(meter)
    with watched(count, meter.end_step):
        surefit.sft(**settings)
    meter.write(job.answer, "surefit")


if __name__ == "__main__":
    main()
