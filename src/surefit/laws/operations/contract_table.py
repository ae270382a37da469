"""What torch's most used operations demand of their operands: one row for each."""

from collections.abc import Mapping
from dataclasses import dataclass

from surefit.laws.operations.demands import (
    FLOATS,
    INDICES,
    POSITIONS,
    AddsUpTo,
    AsManyAxes,
    AsManyNumbers,
    At,
    AtMost,
    Axes,
    AxisExists,
    Broadcast,
    Channels,
    Classes,
    Demand,
    Divisible,
    Dtype,
    Elements,
    Equal,
    EquationSizes,
    Expands,
    Falling,
    Gradient,
    Joined,
    KernelFits,
    Masked,
    NoLonger,
    OneDevice,
    OneDtype,
    Pairs,
    Positions,
    Positive,
    Product,
    SameElements,
    SameShape,
    SettingFits,
    Single,
    SizeIs,
    Trailing,
    Within,
)


@dataclass(frozen=True, slots=True)
class Contract:
    """The arguments of an operation, in order, and what it demands of them."""

    arguments: tuple[str, ...]
    """A tensor's method has its tensor as the first; `*name` takes all that follow."""
    demands: tuple[Demand, ...]
    defaults: Mapping[str, int]
    layout: str = ""
    """What the axes of its operands are, where its demands do not say that: `input as (rows,
    channels, steps)`."""


def row(arguments: str, *demands: Demand, layout: str = "") -> Contract:
    """`dim=0` declares a default, which counts where the call names none."""
    words = [word.partition("=") for word in arguments.split()]
    defaults = {name: int(number) for name, _, number in words if number}
    return Contract(tuple(name for name, _, _ in words), demands, defaults, layout)


def same(names: str, contract: Contract) -> dict[str, Contract]:
    return dict.fromkeys(names.split(), contract)


TOGETHER = OneDevice()
ELEMENTWISE = row("input other", TOGETHER, Broadcast(("input", "other")))
INTO = row("input other", TOGETHER, Broadcast(("input", "other"), onto=True))
REDUCED = row("input dim", AxisExists("dim", "input"))
AVERAGED = row("input dim", Dtype("input", FLOATS), AxisExists("dim", "input"))
TWO_AXES = (AxisExists("dim0", "input"), AxisExists("dim1", "input"))
PICKED = (
    TOGETHER,
    AxisExists("dim", "input"),
    Dtype("index", POSITIONS),
    AsManyAxes("index", "input"),
    NoLonger("index", "input", but="dim"),
    Within("index", At("input", "dim")),
)
WRITTEN = (
    *PICKED,
    AsManyAxes("src", "index"),
    NoLonger("index", "src"),
    OneDtype(("input", "src")),
)
PAIRED = row("input target", TOGETHER, Broadcast(("input", "target")))
SAME_SHAPE = row(
    "input target weight", TOGETHER, SameShape("target", "input"), Dtype("target", FLOATS)
)
SCORES = "scores as (rows, classes, ...) and class indices as (rows, ...)"
OF_CLASSES = (
    TOGETHER,
    Dtype("input", FLOATS),
    Classes("input", "target"),
    Within("target", At("input", 1), ignored="ignore_index"),
    Equal(At("weight", 0), At("input", 1)),
    OneDtype(("input", "weight")),
)


LAST_AXES = {1: "steps", 2: "height, width", 3: "depth, height, width"}


def convolution(sides: int) -> dict[str, Contract]:
    layout = f"its input as (rows, channels, {LAST_AXES[sides]})"
    usual = (Axes("input", sides + 1, sides + 2), OneDtype(("input", "weight", "bias")), TOGETHER)
    arguments = "input weight bias stride padding dilation groups"
    return {
        f"conv{sides}d": row(
            arguments,
            *usual,
            Channels(sides),
            KernelFits("input", sides, weight="weight"),
            layout=layout,
        ),
        f"conv_transpose{sides}d": row(
            "input weight bias stride padding output_padding groups dilation",
            *usual,
            Channels(sides, transposed=True),
            layout=layout,
        ),
        f"max_pool{sides}d": row(
            "input kernel_size stride padding dilation",
            Axes("input", sides + 1, sides + 2),
            KernelFits("input", sides),
        ),
        f"avg_pool{sides}d": row(
            "input kernel_size stride padding",
            Axes("input", sides + 1, sides + 2),
            KernelFits("input", sides),
        ),
        f"adaptive_avg_pool{sides}d": row("input output_size", Axes("input", sides + 1, sides + 2)),
        f"adaptive_max_pool{sides}d": row("input output_size", Axes("input", sides + 1, sides + 2)),
    }


ROWS: Mapping[str, Contract] = {
    # element meets element
    **same("add sub mul div pow maximum minimum fmod remainder atan2 true_divide", ELEMENTWISE),
    **same("eq ne lt le gt ge logical_and logical_or logical_xor", ELEMENTWISE),
    **same("multiply divide subtract floor_divide hypot xlogy logaddexp", ELEMENTWISE),
    **same("bitwise_and bitwise_or bitwise_xor isclose fmax fmin", ELEMENTWISE),
    **same("add_ sub_ mul_ div_ copy_ pow_", INTO),
    "where": row("condition input other", TOGETHER, Broadcast(("condition", "input", "other"))),
    "masked_fill": row(
        "input mask value",
        TOGETHER,
        Dtype("mask", frozenset({"bool"})),
        Broadcast(("input", "mask")),
    ),
    "masked_fill_": row(
        "input mask value",
        TOGETHER,
        Dtype("mask", frozenset({"bool"})),
        Broadcast(("input", "mask"), onto=True),
    ),
    "masked_select": row(
        "input mask", TOGETHER, Dtype("mask", frozenset({"bool"})), Broadcast(("input", "mask"))
    ),
    "lerp": row("input end weight", TOGETHER, OneDtype(), Broadcast(("input", "end", "weight"))),
    "addcmul": row("input tensor1 tensor2", TOGETHER, Broadcast(("input", "tensor1", "tensor2"))),
    "addcdiv": row("input tensor1 tensor2", TOGETHER, Broadcast(("input", "tensor1", "tensor2"))),
    "broadcast_tensors": row("*tensors", Broadcast(("tensors",))),
    "cosine_similarity": row(
        "x1 x2 dim=1", TOGETHER, Broadcast(("x1", "x2")), AxisExists("dim", "x1")
    ),
    "pairwise_distance": row("x1 x2", TOGETHER, Broadcast(("x1", "x2"))),
    # products
    "matmul": row("input other", TOGETHER, OneDtype(), Product("input", "other")),
    "mm": row(
        "input other",
        TOGETHER,
        Axes("input", 2, 2),
        Axes("other", 2, 2),
        OneDtype(),
        Product("input", "other"),
    ),
    "mv": row(
        "input other",
        TOGETHER,
        Axes("input", 2, 2),
        Axes("other", 1, 1),
        OneDtype(),
        Product("input", "other"),
    ),
    "dot": row(
        "input other",
        TOGETHER,
        Axes("input", 1, 1),
        Axes("other", 1, 1),
        OneDtype(),
        SameShape("input", "other"),
    ),
    "bmm": row(
        "input other",
        TOGETHER,
        Axes("input", 3, 3),
        Axes("other", 3, 3),
        OneDtype(),
        Equal(At("input", 0), At("other", 0)),
        Product("input", "other"),
        layout="(rows, n, m) and (rows, m, p)",
    ),
    "addmm": row(
        "input mat1 mat2",
        TOGETHER,
        Axes("mat1", 2, 2),
        Axes("mat2", 2, 2),
        OneDtype(),
        Product("mat1", "mat2"),
    ),
    "baddbmm": row(
        "input mat1 mat2",
        TOGETHER,
        Axes("mat1", 3, 3),
        Axes("mat2", 3, 3),
        OneDtype(),
        Equal(At("mat1", 0), At("mat2", 0)),
        Product("mat1", "mat2"),
    ),
    "cdist": row(
        "x1 x2", TOGETHER, Axes("x1", 2), Axes("x2", 2), Equal(At("x1", -1), At("x2", -1))
    ),
    "einsum": row(
        "equation *operands", OneDtype(("operands",)), EquationSizes("equation", "operands")
    ),
    "linear": row(
        "input weight bias",
        TOGETHER,
        OneDtype(),
        Equal(At("input", -1), At("weight", -1)),
        layout="features in the last axis",
    ),
    "bilinear": row(
        "input1 input2 weight bias",
        TOGETHER,
        OneDtype(),
        Equal(At("input1", -1), At("weight", 1)),
        Equal(At("input2", -1), At("weight", 2)),
    ),
    "scaled_dot_product_attention": row(
        "query key value attn_mask",
        TOGETHER,
        Axes("query", 2),
        OneDtype(("query", "key", "value")),
        Equal(At("query", -1), At("key", -1)),
        Equal(At("key", -2), At("value", -2)),
        layout="query, key and value as (rows, heads, positions, width)",
    ),
    # layers
    **{name: contract for sides in (1, 2, 3) for name, contract in convolution(sides).items()},
    "layer_norm": row(
        "input normalized_shape weight bias",
        OneDtype(("input", "weight", "bias")),
        Trailing("input", "normalized_shape"),
    ),
    "rms_norm": row("input normalized_shape weight", Trailing("input", "normalized_shape")),
    "batch_norm": row(
        "input weight bias running_mean running_var",
        Axes("input", 2),
        Equal(At("input", 1), At("running_mean", 0)),
        Equal(At("input", 1), At("weight", 0)),
        layout="its input as (rows, channels, ...)",
    ),
    "group_norm": row(
        "input num_groups weight bias",
        Axes("input", 2),
        Divisible(At("input", 1), "num_groups"),
        Equal(At("weight", 0), At("input", 1)),
    ),
    "embedding": row(
        "weight input", TOGETHER, Dtype("input", INDICES), Within("input", At("weight", 0))
    ),
    "embedding_bag": row(
        "weight input offsets",
        TOGETHER,
        Dtype("input", INDICES),
        Axes("input", 1, 2),
        Within("input", At("weight", 0)),
        layout="ids as (rows, ids), or all of them in one row with the offsets",
    ),
    "one_hot": row(
        "input num_classes",
        Dtype("input", POSITIONS),
    ),
    "prelu": row("input weight", TOGETHER, OneDtype()),
    "glu": row("input dim=-1", AxisExists("dim", "input"), Divisible(At("input", "dim"), 2)),
    "pixel_shuffle": row("input upscale_factor", Axes("input", 3)),
    "check_hidden_size": row(
        "self hx expected_hidden_size",
        SameShape("hx", "expected_hidden_size"),
        layout="a state as (layers × directions, rows, hidden size)",
    ),
    "interpolate": row(
        "input size scale_factor mode",
        Axes("input", 3, 5),
        SettingFits(
            "mode",
            "input",
            {
                3: ("linear", "nearest", "nearest-exact", "area"),
                4: ("bilinear", "bicubic", "nearest", "nearest-exact", "area"),
                5: ("trilinear", "nearest", "nearest-exact", "area"),
            },
        ),
    ),
    "grid_sampler": row(
        "input grid",
        TOGETHER,
        Axes("input", 4, 5),
        AsManyAxes("grid", "input"),
        Equal(At("grid", 0), At("input", 0)),
        SizeIs(At("grid", -1), 2),
        OneDtype(("input", "grid")),
        layout="a grid as (rows, height, width, 2)",
    ),
    "pad": row("input pad mode value", Pairs("pad", "input")),
    "_pack_padded_sequence": row(
        "input lengths batch_first",
        Axes("lengths", 1, 1),
        Positive("lengths"),
        Falling("lengths", "enforce_sorted"),
    ),
    # joins and parts
    **same(
        "cat concat concatenate",
        row("tensors dim=0", Joined("tensors", "dim"), AxisExists("dim", "tensors")),
    ),
    "stack": row("tensors dim=0", Joined("tensors"), AxisExists("dim", "tensors", added=1)),
    **same(
        "split_with_sizes split",
        row(
            "input split_size dim=0",
            AxisExists("dim", "input"),
            AddsUpTo("split_size", At("input", "dim")),
        ),
    ),
    "chunk": row("input chunks dim=0", AxisExists("dim", "input")),
    "unbind": row("input dim=0", AxisExists("dim", "input")),
    "narrow": row(
        "input dim start length", AxisExists("dim", "input"), AtMost("length", At("input", "dim"))
    ),
    # an index
    "getitem": row(
        "input *index", Masked("input", "index"), Broadcast(("index",)), Positions("input", "index")
    ),
    **same("gather", row("input dim index", *PICKED)),
    **same("scatter scatter_ scatter_add scatter_add_", row("input dim index src", *WRITTEN)),
    "take_along_dim": row(
        "input index dim", TOGETHER, Dtype("index", POSITIONS), AsManyAxes("index", "input")
    ),
    "index_select": row(
        "input dim index",
        TOGETHER,
        AxisExists("dim", "input"),
        Dtype("index", INDICES),
        Axes("index", 0, 1),
        Within("index", At("input", "dim")),
    ),
    **same(
        "index_add index_add_ index_copy index_copy_",
        row(
            "input dim index source",
            TOGETHER,
            AxisExists("dim", "input"),
            Dtype("index", INDICES),
            Axes("index", 0, 1),
            Within("index", At("input", "dim")),
            OneDtype(("input", "source")),
            AsManyAxes("source", "input"),
            Equal(At("source", "dim"), At("index", 0)),
        ),
    ),
    "bincount": row(
        "input",
        Axes("input", 1, 1),
        Dtype("input", frozenset({"int64", "int32", "int16", "int8", "uint8"})),
    ),
    "topk": row("input k dim=-1", AxisExists("dim", "input"), AtMost("k", At("input", "dim"))),
    # axes
    **same(
        "sum argmax argmin amax amin cumsum flip sort squeeze unflatten any all logsumexp", REDUCED
    ),
    **same("mean std var softmax log_softmax norm nanmean", AVERAGED),
    "unsqueeze": row("input dim", AxisExists("dim", "input", added=1)),
    "transpose": row("input dim0 dim1", *TWO_AXES),
    "swapaxes": row("input dim0 dim1", *TWO_AXES),
    "movedim": row("input dim0 dim1", *TWO_AXES),
    "select": row("input dim index", AxisExists("dim", "input")),
    "permute": row("input *dims", AxisExists("dims", "input"), AsManyNumbers("dims", "input")),
    "t": row("input", Axes("input", 0, 2)),
    "view": row("input *shape", Elements("input", "shape", view=True)),
    "reshape": row("input *shape", Elements("input", "shape")),
    "expand": row("input *sizes", Expands("input", "sizes")),
    "expand_as": row("input other", Expands("input", "other")),
    "view_as": row("input other", SameElements("input", "other")),
    # gradients
    "backward": row(
        "input gradient", Gradient("input", needed=True), Single("input", unless="gradient")
    ),
    "numpy": row("input", Gradient("input", needed=False)),
    "item": row("input", Single("input")),
    # losses
    **same("mse_loss l1_loss smooth_l1_loss huber_loss kl_div poisson_nll_loss", PAIRED),
    **same("binary_cross_entropy binary_cross_entropy_with_logits", SAME_SHAPE),
    **same(
        "cross_entropy cross_entropy_loss",
        row("input target weight reduction ignore_index", *OF_CLASSES, layout=SCORES),
    ),
    **same(
        "nll_loss nll_loss_nd",
        row("input target weight reduction ignore_index", *OF_CLASSES, layout=SCORES),
    ),
    "ctc_loss": row(
        "log_probs targets input_lengths target_lengths blank=0",
        TOGETHER,
        Axes("log_probs", 2, 3),
        Equal(At("input_lengths", 0), At("log_probs", 1)),
        Equal(At("target_lengths", 0), At("log_probs", 1)),
        AtMost("input_lengths", At("log_probs", 0)),
        Within("targets", At("log_probs", -1)),
        layout="log-probabilities as (steps, rows, classes), and a length for each row",
    ),
    "margin_ranking_loss": row(
        "input1 input2 target",
        TOGETHER,
        AsManyAxes("input1", "target"),
        Broadcast(("input1", "input2", "target")),
    ),
    "cosine_embedding_loss": row(
        "input1 input2 target",
        TOGETHER,
        AsManyAxes("input1", "input2"),
        Equal(At("target", 0), At("input1", 0)),
        Broadcast(("input1", "input2")),
    ),
    "triplet_margin_loss": row(
        "anchor positive negative",
        TOGETHER,
        AsManyAxes("anchor", "positive"),
        AsManyAxes("anchor", "negative"),
        Broadcast(("anchor", "positive", "negative")),
    ),
    "hinge_embedding_loss": PAIRED,
    "soft_margin_loss": PAIRED,
    "multilabel_margin_loss": row(
        "input target", SameShape("target", "input"), Dtype("target", POSITIONS)
    ),
    "multi_margin_loss": row(
        "input target", Equal(At("target", 0), At("input", 0)), Dtype("target", POSITIONS)
    ),
    "gaussian_nll_loss": row("input target var", TOGETHER, Broadcast(("input", "target"))),
}
"""An operation by the last part of its name -> what it demands."""
