"""Keeps back the bars and warnings of the libraries while a model is read or written."""

from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def without_chatter() -> Iterator[None]:
    from transformers.utils import logging

    level, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(level)
        if bars:
            logging.enable_progress_bar()
