"""A transformer on feature sequences: projection, encoder and head, saved and loaded as one."""

import inspect
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file
from torch import nn
from transformers import AutoConfig, AutoModel, PretrainedConfig, PreTrainedModel

from surefit.data.features.layout import Kind, Layout
from surefit.doctor.findings import Fact, Finding, Fix, Place
from surefit.doctor.rule import refusal
from surefit.errors import BadInput

from .encoders import check_positions
from .projection import Projection

OTHER_LAYOUT = refusal("SF065", "model-of-another-layout", "A model was made for other rows.")
TAKES_NO_EMBEDDINGS = refusal(
    "SF066",
    "model-takes-no-embeddings",
    "The model cannot be called with vectors instead of token ids.",
)


class FeatureConfig(PretrainedConfig):
    """The layout that a model was made for, and the configuration of its encoder."""

    model_type = "surefit_features"

    def __init__(
        self,
        steps: int = 20,
        features: int = 271,
        kind: str = "one-hot",
        causal: bool = False,
        encoder: dict[str, Any] | None = None,
        **others: Any,
    ) -> None:
        super().__init__(**others)
        self.steps = steps
        self.features = features
        self.kind = kind
        self.causal = causal
        self.encoder = encoder or {}

    @property
    def layout(self) -> Layout:
        return Layout(steps=self.steps, features=self.features, kind=Kind(self.kind))


class FeatureModel(PreTrainedModel):
    """Rows of features to hidden states of every step; `head` makes features of them again.

    The projection is a part of it, so that whatever trains, moves or saves the model has it too.
    """

    config_class = FeatureConfig
    base_model_prefix = ""
    main_input_name = "inputs_embeds"
    _supports_sdpa = True
    _supports_flash_attn = True
    _supports_attention_backend = True

    def __init__(self, config: FeatureConfig, encoder: Any = None) -> None:
        super().__init__(config)
        self.encoder = encoder if encoder is not None else _encoder(config)
        taken = self.encoder.get_input_embeddings().weight.shape[1]
        self.projection = Projection(config.features, taken)
        self.mask = nn.Parameter(torch.zeros(taken))
        self.head = nn.Linear(width_of(self.encoder.config), config.features)
        self.post_init()  # type: ignore[no-untyped-call]

    def _init_weights(self, module: nn.Module) -> None:
        """The encoder's weights are its own affair: made by it, or trained already."""

    def forward(
        self,
        inputs_embeds: torch.Tensor,
        attention_mask: torch.Tensor | None = None,
        masked: torch.Tensor | None = None,
    ) -> torch.Tensor:
        """`[rows, steps, features]`, or `[rows, steps]` of indices, to `[rows, steps, width]`.

        What stands in `masked` steps is hidden from the encoder.
        """
        projected = self.projection(inputs_embeds)
        if masked is not None:
            projected = torch.where(masked[..., None], self.mask.to(projected.dtype), projected)
        given = {} if attention_mask is None else {"attention_mask": attention_mask}
        hidden: torch.Tensor = self.encoder(inputs_embeds=projected, **given)[0]
        return hidden


def around(own: Any, layout: Layout, kind: Kind, *, causal: bool) -> FeatureModel:
    """A projection and a head around a transformers model that is there already.

    A feature model goes on as it is. Raises `BadInput` for one of another layout, and for a model
    that takes no `inputs_embeds`.
    """
    if isinstance(own, FeatureModel):
        _check_layout(own, layout)
        return own
    inside = getattr(own, "base_model", own)
    if not hasattr(inside, "config") or not _takes_embeddings(inside):
        raise BadInput(_takes_none(own))
    check_positions(inside.config, layout)
    config = FeatureConfig(
        steps=layout.steps,
        features=layout.features,
        kind=str(kind),
        causal=causal,
        encoder=inside.config.to_dict(),
    )
    return FeatureModel(config, inside)


def put_back(model: FeatureModel, folder: Path) -> None:
    """Gives a model on one device the weights that were saved of it."""
    weights = {
        name: tensor
        for file in sorted(folder.glob("*.safetensors"))
        for name, tensor in load_file(file).items()
    }
    model.load_state_dict(weights)


def width_of(config: Any) -> int:
    """Of the hidden states of an encoder."""
    return int(getattr(config, "hidden_size", None) or config.d_model)


def _encoder(config: FeatureConfig) -> Any:
    about = dict(config.encoder)
    made = AutoConfig.for_model(about.pop("model_type"), **about)
    encoder = AutoModel.from_config(made)
    if getattr(encoder, "pooler", None) is not None:
        encoder.pooler = None  # it would look at one step alone, and no loss reaches it
    return encoder


def _takes_embeddings(model: Any) -> bool:
    return "inputs_embeds" in inspect.signature(model.forward).parameters


def _check_layout(own: FeatureModel, layout: Layout) -> None:
    made_for = own.config.layout
    if made_for.features == layout.features and layout.steps <= made_for.steps:
        return
    raise BadInput(
        OTHER_LAYOUT.finding(
            Place("model"),
            f"The model was made for rows of {made_for.steps} steps x {made_for.features} features,"
            f" and the data has {layout.steps} x {layout.features}.",
            facts=[
                Fact("`projection`", f"{made_for.features} → {own.projection.out_features}"),
                Fact("data", str(layout)),
            ],
            why="A new projection of the right size would be untrained, and trained on other "
            "features.",
            fixes=[
                Fix("Inspect the data:  surefit inspect DIR"),
                Fix("If the data is right, begin with a new model."),
            ],
        )
    )


def _takes_none(own: Any) -> Finding:
    return TAKES_NO_EMBEDDINGS.finding(
        Place("model"),
        f"`{type(own).__name__}` is not a transformers model that accepts `inputs_embeds`.",
        why="The projection replaces the embedding: the model is called with its output as "
        "`inputs_embeds`.",
        fixes=[Fix("Pass only the encoder, such as `BertModel(config)`, or none for the default.")],
    )
