"""The score of the held-out rows after each epoch, and the best weights so far."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from accelerate import Accelerator

from surefit.data.templates import Tokenizer
from surefit.data.tokens import TokenSet
from surefit.metrics.evaluation import evaluate
from surefit.metrics.perplexity import Perplexity
from surefit.metrics.token_loss import token_loss
from surefit.models.answer import Share
from surefit.models.save import save_trained
from surefit.models.shards import is_sharded, whole_weights
from surefit.render.console import progress, say
from surefit.train.interrupt import StopAsked, StopWish
from surefit.train.progress import Progress
from surefit.train.ranks import Ranks
from surefit.train.record import RunFolder

BEFORE = "Before training"


@dataclass(frozen=True, slots=True)
class Judge:
    """Scores the held-out rows and keeps the best weights."""

    folder: RunFolder
    accelerator: Accelerator
    model: Any
    tokenizer: Tokenizer
    held_out: TokenSet
    max_new_tokens: int
    batch_size: int
    ranks: Ranks = field(default_factory=Ranks)
    """They share the rows, and all get the score of every row."""

    outermost: Any = None
    """What was prepared for training, around the model."""

    loss_batch: int = 1
    """Rows in a batch whose loss is taken."""

    def score(self, epoch: int | None, state: Progress, wish: StopWish) -> float | None:
        """F1 over the held-out rows and their loss, said and written down; None if there are none.

        Without an epoch, it is one of the evaluations within an epoch.
        """
        if not len(self.held_out):
            return None
        with (
            progress("Answering held-out rows", len(self.held_out)) as bar,
            self.accelerator.autocast(),
            outermost_whole(self.outermost),
        ):

            def answered(rows: int) -> None:
                bar.step(rows)
                if self.ranks.any(wish.asked):
                    raise StopAsked

            found = evaluate(
                self.model,
                self.tokenizer,
                self.held_out,
                max_new_tokens=self.max_new_tokens,
                batch_size=self.batch_size,
                share=Share(self.ranks.rank, self.ranks.world, in_step=is_sharded(self.model)),
                gathered=self.ranks.gathered,
                each=answered,
            )
        loss = self.validation_loss()
        self.folder.add_score(
            state, epoch, found.score, found.predictions, validation_loss=loss.mean
        )
        when = f"Step {state.step}" if epoch is None else f"Epoch {epoch}" if epoch else BEFORE
        say(
            f"{when}: Average F1 Score = {found.score.f1:.4f}, "
            f"exact match {found.score.exact_match:.4f} over {found.score.rows} held-out rows; "
            f"validation loss {loss.mean:.4f} over {loss.places:,} supervised tokens"
        )
        return found.score.f1

    def validation_loss(self) -> Perplexity:
        """Over the supervised tokens of all held-out rows, each counting once."""
        with self.accelerator.autocast():
            return token_loss(
                self.accelerator.unwrap_model(self.outermost),
                self.held_out,
                range(len(self.held_out)),
                pad_id=self.tokenizer.pad_token_id,
                batch_size=self.loss_batch,
                share=Share(self.ranks.rank, self.ranks.world, in_step=is_sharded(self.model)),
                summed=self.ranks.summed,
            )

    def end_epoch(self, state: Progress, wish: StopWish) -> Progress:
        """Of equal epochs the later is the best, and without held-out rows the newest."""
        epoch = state.epoch + 1
        f1 = self.score(epoch, state, wish)
        before = state.best_score
        best = f1 is None or before is None or f1 >= before
        gained = f1 is None or before is None or f1 > before
        if best:
            self.save(epoch)
        return replace(
            state,
            epoch=epoch,
            step_in_epoch=0,
            loss_sum=0.0,
            places=0,
            epoch_loss=state.loss_sum / state.places,
            best_epoch=epoch if best else state.best_epoch,
            best_score=f1 if best and f1 is not None else before,
            epochs_without_gain=0 if gained else state.epochs_without_gain + 1,
        )

    def save(self, epoch: int) -> None:
        weights = whole_weights(self.model, keep=self.ranks.is_first)
        place = self.folder.best(epoch)
        self.ranks.first_does(lambda: save_trained(self.model, self.tokenizer, place, weights))


@contextmanager
def outermost_whole(outermost: Any) -> Iterator[None]:
    """Answers go round the outermost module, whose own shards its forward pass would have met."""
    if not hasattr(outermost, "unshard"):
        yield
        return
    outermost.unshard()
    try:
        yield
    finally:
        outermost.reshard()
