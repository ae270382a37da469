"""A meter on transformers' Trainer, and so on everything that is built on it."""

from typing import Any

from .meter import Meter


def watch_trainer(meter: Meter) -> None:
    """Every Trainer of this process is counted from now on, whoever makes it."""
    from transformers import Trainer, TrainerCallback

    class Watch(TrainerCallback):
        """Begins and ends the steps of a meter."""

        def __init__(self) -> None:
            self.loss = 0.0

        def on_step_begin(self, *_: Any, **__: Any) -> None:
            meter.begin_step()

        def on_step_end(self, *_: Any, **__: Any) -> None:
            meter.end_step(self.loss)

    watch = Watch()
    train, training_step = Trainer.train, Trainer.training_step

    def watched_train(self: Any, *args: Any, **kwargs: Any) -> Any:
        self.add_callback(watch)
        return train(self, *args, **kwargs)

    def watched_step(self: Any, model: Any, inputs: Any, *args: Any, **kwargs: Any) -> Any:
        meter.count(inputs["input_ids"], inputs["labels"], inputs.get("attention_mask"))
        loss = training_step(self, model, inputs, *args, **kwargs)
        watch.loss = loss.item()
        return loss

    Trainer.train = watched_train  # type: ignore[method-assign]
    Trainer.training_step = watched_step  # type: ignore[method-assign]
