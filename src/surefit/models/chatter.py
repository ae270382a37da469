"""Keeps back the bars and warnings of the libraries while a model is read or written."""

import logging as python_logging
from collections.abc import Iterator
from contextlib import contextmanager

# accelerate warns of every model whose weights it was told to leave elsewhere.
OFFLOADING = python_logging.getLogger("accelerate.big_modeling")


@contextmanager
def without_chatter() -> Iterator[None]:
    from transformers.utils import logging

    level, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    of_offloading = OFFLOADING.level
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    OFFLOADING.setLevel(python_logging.ERROR)
    try:
        yield
    finally:
        logging.set_verbosity(level)
        OFFLOADING.setLevel(of_offloading)
        if bars:
            logging.enable_progress_bar()
