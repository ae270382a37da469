"""The encoder of a feature model, from settings, from a config.json, or the user's own."""

from pathlib import Path
from typing import Any

from surefit.data.features.layout import Layout
from surefit.doctor.findings import COMMAND_LINE, Fact, Fix, Place
from surefit.doctor.rule import refusal
from surefit.errors import BadInput, WrongCall

UNKNOWN_ENCODER = refusal(
    "SF060",
    "unknown-encoder",
    "The encoder is neither a transformers model type nor a configuration.",
)
HEADS_DO_NOT_DIVIDE = refusal(
    "SF061",
    "heads-do-not-divide",
    "The hidden size of the encoder is not divisible by its number of heads.",
)
TOO_FEW_POSITIONS = refusal(
    "SF062", "steps-beyond-positions", "A row has more steps than the encoder has positions."
)

OFFSET = 2
"""Positions that some encoders (RoBERTa and its like) leave out before the first."""

NO_WORDS = 1
"""Rows of the table of words, which features never go through."""


def encoder_config(
    name: str, layout: Layout, *, causal: bool, width: int, layers: int, heads: int, dropout: float
) -> Any:
    """A transformers configuration; sizes are those given, unless a config.json has its own."""
    from transformers import AutoConfig

    file = Path(name).expanduser()
    if file.exists():
        config = AutoConfig.from_pretrained(str(file))
    else:
        _check_heads(width, heads)
        kind = ("llama" if causal else "bert") if name == "auto" else name
        sizes = {
            "hidden_size": width,
            "num_hidden_layers": layers,
            "num_attention_heads": heads,
            "num_key_value_heads": heads,
            "intermediate_size": 4 * width,
            "hidden_dropout_prob": dropout,
            "attention_probs_dropout_prob": dropout,
            "attention_dropout": dropout,
            "max_position_embeddings": layout.steps + OFFSET,
            "vocab_size": NO_WORDS,
            "pad_token_id": 0,
            "bos_token_id": None,
            "eos_token_id": None,
        }
        try:
            config = AutoConfig.for_model(kind, **sizes)
        except ValueError as error:
            raise WrongCall(_unknown(name, str(error))) from error
    check_positions(config, layout)
    return config


def check_positions(config: Any, layout: Layout) -> None:
    places = getattr(config, "max_position_embeddings", None)
    if places is None or layout.steps <= places:
        return
    raise BadInput(
        TOO_FEW_POSITIONS.finding(
            Place("model"),
            f"Rows have {layout.steps} steps, and the encoder has {places} positions.",
            facts=[
                Fact("layout", str(layout)),
                Fact("`max_position_embeddings`", str(places)),
            ],
            fixes=[Fix(f"An encoder with `max_position_embeddings` of {layout.steps} or more.")],
        )
    )


def _check_heads(width: int, heads: int) -> None:
    if width % heads == 0:
        return
    below, above = width - width % heads, width + heads - width % heads
    raise WrongCall(
        HEADS_DO_NOT_DIVIDE.finding(
            COMMAND_LINE,
            f"A width of {width} cannot be shared by {heads} heads: {width} = "
            f"{width // heads} x {heads} + {width % heads}.",
            fixes=[Fix(f"--hidden-size {below or above}, or --hidden-size {above}")],
        )
    )


def _unknown(name: str, said: str) -> Any:
    from transformers import CONFIG_MAPPING

    from surefit.did_you_mean import nearest

    near = nearest(name, set(CONFIG_MAPPING))
    return UNKNOWN_ENCODER.finding(
        COMMAND_LINE,
        f"`--encoder {name}` is neither a transformers model type nor a config.json.",
        fixes=[Fix(f"The nearest type:  --encoder {near}")] if near else [],
        python_said=said.splitlines()[0],
    )
