"""The table of contracts against the installed torch: what breaks a demand raises, what does not
runs."""

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
import torch
from hypothesis import given as hypothesis_given
from hypothesis import settings
from hypothesis import strategies as st
from torch.nn import functional
from torch.nn.utils.rnn import pack_padded_sequence

from surefit.doctor.observations import Value
from surefit.laws.operations.contract_table import ROWS
from surefit.laws.operations.demands import Conflict, conflicts
from surefit.observe.inside.autopsy.values import describe

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")
VF = importlib.import_module("torch._VF")


def floats(*shape: int, dtype: torch.dtype = torch.float32, grad: bool = False) -> torch.Tensor:
    return torch.zeros(*shape, dtype=dtype, requires_grad=grad)


def ints(*shape: int, fill: int = 0, dtype: torch.dtype = torch.int64) -> torch.Tensor:
    return torch.full(shape, fill, dtype=dtype)


def bools(*shape: int) -> torch.Tensor:
    return torch.zeros(*shape, dtype=torch.bool)


def describe_call(operation: str, arguments: dict[str, Any]) -> dict[str, Value]:
    contract = ROWS[operation]
    defaults = {name: describe(number, name) for name, number in contract.defaults.items()}
    return defaults | {
        name: describe(value, name) for name, value in arguments.items() if value is not None
    }


def first_conflict(operation: str, arguments: dict[str, Any]) -> Conflict | None:
    given = describe_call(operation, arguments)
    return next(conflicts(ROWS[operation].demands, given), None)


def run(operation: str, arguments: dict[str, Any], function: Callable[..., Any] | None) -> None:
    """With the arguments in the order of the row."""
    plain: list[Any] = []
    named = dict(arguments)
    for declared in ROWS[operation].arguments:
        if declared.lstrip("*") not in named:
            break
        value = named.pop(declared.lstrip("*"))
        plain += list(value) if declared.startswith("*") else [value]
    (function or found(operation))(*plain, **named)


def found(operation: str) -> Callable[..., Any]:
    for home in (torch, functional, torch.Tensor, torch._C._nn, VF):
        if hasattr(home, operation):
            function: Callable[..., Any] = getattr(home, operation)
            return function
    raise AssertionError(operation)


@dataclass(frozen=True)
class Broken:
    """A call, and the conflict that it is in."""

    about: str
    argument: str
    axis: int | None
    arguments: dict[str, Any]


def bad(about: str, argument: str, axis: int | None = None, **arguments: Any) -> Broken:
    return Broken(about, argument, axis, arguments)


Case = tuple[str, dict[str, Any], tuple[Broken, ...]]


def elementwise(operation: str, dtype: torch.dtype = torch.float32) -> Case:
    fits = {"input": floats(4, 3, dtype=dtype), "other": floats(3, dtype=dtype)}
    other = floats(4, dtype=dtype)
    return operation, fits, (bad("size", "input", 1, input=fits["input"], other=other),)


def reduced(operation: str) -> Case:
    fits = {"input": floats(4, 3), "dim": 1}
    return operation, fits, (bad("axes", "dim", input=floats(4, 3), dim=2),)


def averaged(operation: str) -> Case:
    first, fits, broken = reduced(operation)
    return first, fits, (*broken, bad("dtype", "input", input=ints(4, 3), dim=1))


def convolution(sides: int) -> list[Case]:
    size, kernel = (6,) * sides, (3,) * sides
    weight = floats(5, 4, *kernel)
    pooled = {"input": floats(2, 4, *size), "kernel_size": 3}
    too_few = bad("axes", "input", input=floats(*size[:-1], 4), weight=weight)
    return [
        (
            f"conv{sides}d",
            {"input": floats(2, 4, *size), "weight": weight},
            (
                bad("size", "input", 1, input=floats(2, 3, *size), weight=weight),
                bad("size", "input", 2, input=floats(2, 4, *(2,) * sides), weight=weight),
                bad("dtype", "input", input=floats(2, 4, *size).double(), weight=weight),
                too_few,
            ),
        ),
        (
            f"conv_transpose{sides}d",
            {"input": floats(2, 5, *size), "weight": weight},
            (bad("size", "input", 1, input=floats(2, 4, *size), weight=weight),),
        ),
        (
            f"max_pool{sides}d",
            pooled,
            (bad("size", "input", 2, input=floats(2, 4, *(2,) * sides), kernel_size=3),),
        ),
        (
            f"avg_pool{sides}d",
            pooled,
            (bad("size", "input", 2, input=floats(2, 4, *(2,) * sides), kernel_size=3),),
        ),
        (
            f"adaptive_avg_pool{sides}d",
            {"input": floats(2, 4, *size), "output_size": 2},
            (bad("axes", "input", input=floats(*(4,) * sides), output_size=2),),
        ),
        (
            f"adaptive_max_pool{sides}d",
            {"input": floats(2, 4, *size), "output_size": 2},
            (bad("axes", "input", input=floats(*(4,) * sides), output_size=2),),
        ),
    ]


def into(operation: str) -> Case:
    return (
        operation,
        {"input": floats(4, 3), "other": floats(3)},
        (
            bad("size", "input", 1, input=floats(4, 3), other=floats(4)),
            bad("size", "input", 1, input=floats(4, 1), other=floats(4, 3)),
        ),
    )


def picked(operation: str, **more: Any) -> Case:
    x = floats(4, 3)
    return (
        operation,
        {"input": x.clone(), "dim": 1, "index": ints(4, 2), **more},
        (
            bad("axes", "index", input=x.clone(), dim=1, index=ints(4), **more),
            bad("dtype", "index", input=x.clone(), dim=1, index=floats(4, 2), **more),
            bad("size", "index", 0, input=x.clone(), dim=1, index=ints(5, 2), **more),
            bad("number", "index", input=x.clone(), dim=1, index=ints(4, 2, fill=3), **more),
            bad("axes", "dim", input=x.clone(), dim=2, index=ints(4, 2), **more),
        ),
    )


def paired(operation: str) -> Case:
    return (
        operation,
        {"input": floats(4, 3), "target": floats(4, 3)},
        (bad("size", "input", 1, input=floats(4, 3), target=floats(4, 2)),),
    )


def of_classes(operation: str) -> Case:
    scores = floats(4, 3).log_softmax(1)
    return (
        operation,
        {"input": scores, "target": ints(4)},
        (
            bad("size", "target", 0, input=scores, target=ints(5)),
            bad("axes", "target", input=scores, target=ints(4, 1)),
            bad("number", "target", input=scores, target=ints(4, fill=3)),
            bad("size", "weight", 0, input=scores, target=ints(4), weight=floats(2)),
        ),
    )


PLAIN = "add sub mul div pow maximum minimum fmod remainder atan2 true_divide multiply divide"
PLAIN += " subtract floor_divide hypot xlogy logaddexp isclose fmax fmin eq ne lt le gt ge"
PLAIN += " logical_and logical_or logical_xor"
BITS = "bitwise_and bitwise_or bitwise_xor"

CALLS: list[Case] = [
    *(elementwise(operation) for operation in PLAIN.split()),
    *(elementwise(operation, torch.int64) for operation in BITS.split()),
    *(into(operation) for operation in ["add_", "sub_", "mul_", "div_", "copy_", "pow_"]),
    *(
        reduced(each)
        for each in [
            "sum",
            "argmax",
            "argmin",
            "amax",
            "amin",
            "cumsum",
            "sort",
            "squeeze",
            "any",
            "all",
            "logsumexp",
        ]
    ),
    ("flip", {"input": floats(4, 3), "dim": [1]}, (bad("axes", "dim", input=floats(4), dim=[1]),)),
    *(averaged(each) for each in ["mean", "std", "var", "softmax", "log_softmax", "nanmean"]),
    *(case for sides in (1, 2, 3) for case in convolution(sides)),
    (
        "where",
        {"condition": bools(4, 1), "input": floats(4, 3), "other": floats(4, 3)},
        (bad("size", "condition", 0, condition=bools(4), input=floats(4, 3), other=floats(3)),),
    ),
    (
        "masked_fill",
        {"input": floats(4, 3), "mask": bools(4, 1), "value": 0.0},
        (
            bad("size", "input", 1, input=floats(4, 3), mask=bools(4), value=0.0),
            bad("dtype", "mask", input=floats(4, 3), mask=ints(4, 3), value=0.0),
        ),
    ),
    (
        "masked_fill_",
        {"input": floats(4, 3), "mask": bools(4, 1), "value": 0.0},
        (bad("size", "input", 1, input=floats(4, 1), mask=bools(4, 3), value=0.0),),
    ),
    (
        "masked_select",
        {"input": floats(4, 3), "mask": bools(4, 1)},
        (bad("size", "input", 1, input=floats(4, 3), mask=bools(4)),),
    ),
    (
        "lerp",
        {"input": floats(4, 3), "end": floats(3), "weight": floats(4, 1)},
        (bad("size", "input", 1, input=floats(4, 3), end=floats(2), weight=floats(4, 1)),),
    ),
    *(
        (
            each,
            {"input": floats(4, 3), "tensor1": floats(3), "tensor2": floats(4, 1)},
            (bad("size", "input", 1, input=floats(4, 3), tensor1=floats(2), tensor2=floats(3)),),
        )
        for each in ("addcmul", "addcdiv")
    ),
    (
        "broadcast_tensors",
        {"tensors": (floats(4, 3), floats(3))},
        (bad("size", "tensors[0]", 1, tensors=(floats(4, 3), floats(4))),),
    ),
    (
        "cosine_similarity",
        {"x1": floats(4, 3), "x2": floats(4, 3)},
        (bad("size", "x1", 1, x1=floats(4, 3), x2=floats(4, 2)),),
    ),
    (
        "pairwise_distance",
        {"x1": floats(4, 3), "x2": floats(4, 3)},
        (bad("size", "x1", 1, x1=floats(4, 3), x2=floats(4, 2)),),
    ),
    (
        "matmul",
        {"input": floats(2, 4, 3), "other": floats(3, 5)},
        (
            bad("size", "input", 2, input=floats(2, 4, 3), other=floats(4, 3)),
            bad("size", "input", 0, input=floats(2, 4, 3), other=floats(5, 3, 4)),
            bad("dtype", "input", input=floats(4, 3), other=floats(3, 4).double()),
        ),
    ),
    (
        "mm",
        {"input": floats(4, 3), "other": floats(3, 5)},
        (
            bad("size", "input", 1, input=floats(4, 3), other=floats(4, 3)),
            bad("axes", "other", input=floats(4, 3), other=floats(3)),
        ),
    ),
    (
        "mv",
        {"input": floats(4, 3), "other": floats(3)},
        (bad("size", "input", 1, input=floats(4, 3), other=floats(4)),),
    ),
    (
        "dot",
        {"input": floats(3), "other": floats(3)},
        (
            bad("size", "input", 0, input=floats(3), other=floats(4)),
            bad("axes", "input", input=floats(3, 1), other=floats(3)),
        ),
    ),
    (
        "bmm",
        {"input": floats(2, 4, 3), "other": floats(2, 3, 5)},
        (
            bad("size", "input", 2, input=floats(2, 4, 3), other=floats(2, 4, 3)),
            bad("size", "input", 0, input=floats(2, 4, 3), other=floats(3, 3, 4)),
            bad("axes", "other", input=floats(2, 4, 3), other=floats(3, 4)),
        ),
    ),
    (
        "addmm",
        {"input": floats(5), "mat1": floats(4, 3), "mat2": floats(3, 5)},
        (bad("size", "mat1", 1, input=floats(5), mat1=floats(4, 3), mat2=floats(4, 5)),),
    ),
    (
        "baddbmm",
        {"input": floats(2, 4, 5), "mat1": floats(2, 4, 3), "mat2": floats(2, 3, 5)},
        (
            bad(
                "size", "mat1", 2, input=floats(2, 4, 5), mat1=floats(2, 4, 3), mat2=floats(2, 4, 5)
            ),
        ),
    ),
    (
        "cdist",
        {"x1": floats(4, 3), "x2": floats(5, 3)},
        (bad("size", "x1", 1, x1=floats(4, 3), x2=floats(5, 2)),),
    ),
    (
        "einsum",
        {"equation": "btd,hd->bht", "operands": (floats(2, 4, 3), floats(5, 3))},
        (
            bad(
                "size",
                "operands[0]",
                2,
                equation="btd,hd->bht",
                operands=(floats(2, 4, 3), floats(5, 2)),
            ),
            bad(
                "axes",
                "operands[1]",
                equation="btd,hd->bht",
                operands=(floats(2, 4, 3), floats(3)),
            ),
        ),
    ),
    (
        "linear",
        {"input": floats(2, 4, 3), "weight": floats(5, 3), "bias": floats(5)},
        (
            bad("size", "input", 2, input=floats(2, 3, 4), weight=floats(5, 3), bias=floats(5)),
            bad("dtype", "input", input=ints(4, 3), weight=floats(5, 3), bias=floats(5)),
        ),
    ),
    (
        "bilinear",
        {"input1": floats(4, 3), "input2": floats(4, 2), "weight": floats(5, 3, 2)},
        (
            bad(
                "size",
                "input2",
                1,
                input1=floats(4, 3),
                input2=floats(4, 3),
                weight=floats(5, 3, 2),
            ),
        ),
    ),
    (
        "scaled_dot_product_attention",
        {"query": floats(2, 4, 3), "key": floats(2, 5, 3), "value": floats(2, 5, 6)},
        (
            bad(
                "size",
                "query",
                2,
                query=floats(2, 4, 3),
                key=floats(2, 5, 4),
                value=floats(2, 5, 6),
            ),
            bad(
                "size", "key", 1, query=floats(2, 4, 3), key=floats(2, 5, 3), value=floats(2, 4, 6)
            ),
        ),
    ),
    (
        "layer_norm",
        {"input": floats(4, 3), "normalized_shape": (3,)},
        (bad("size", "input", 1, input=floats(4, 2), normalized_shape=(3,)),),
    ),
    (
        "rms_norm",
        {"input": floats(4, 3), "normalized_shape": (3,)},
        (bad("size", "input", 1, input=floats(4, 2), normalized_shape=(3,)),),
    ),
    (
        "group_norm",
        {"input": floats(2, 6, 4), "num_groups": 3},
        (bad("number", "input", 1, input=floats(2, 5, 4), num_groups=3),),
    ),
    (
        "embedding",
        {"weight": floats(7, 3), "input": ints(2, 4)},
        (
            bad("number", "input", weight=floats(7, 3), input=ints(2, fill=7)),
            bad("dtype", "input", weight=floats(7, 3), input=floats(2)),
        ),
    ),
    ("one_hot", {"input": ints(4)}, (bad("dtype", "input", input=floats(4)),)),
    (
        "glu",
        {"input": floats(4, 6)},
        (bad("number", "input", 1, input=floats(4, 5)),),
    ),
    (
        "pixel_shuffle",
        {"input": floats(2, 4, 3, 3), "upscale_factor": 2},
        (bad("axes", "input", input=floats(4, 3), upscale_factor=2),),
    ),
    (
        "interpolate",
        {"input": floats(2, 4, 3, 3), "size": 6, "mode": "bilinear"},
        (bad("setting", "mode", input=floats(2, 4, 3, 3), size=6, mode="linear"),),
    ),
    (
        "pad",
        {"input": floats(4, 3), "pad": (0, 0, 0, 2)},
        (bad("axes", "input", input=floats(4, 3), pad=(0, 0, 0, 0, 0, 2)),),
    ),
    *(
        (
            each,
            {"tensors": [floats(4, 3), floats(2, 3)], "dim": 0},
            (
                bad("size", "tensors[0]", 1, tensors=[floats(4, 3), floats(4, 2)], dim=0),
                bad("axes", "tensors[0]", tensors=[floats(4, 3), floats(4)], dim=0),
                bad("axes", "dim", tensors=[floats(4, 3), floats(4, 3)], dim=2),
            ),
        )
        for each in ("cat", "concat", "concatenate")
    ),
    (
        "stack",
        {"tensors": [floats(4, 3), floats(4, 3)], "dim": 2},
        (bad("size", "tensors[0]", 0, tensors=[floats(4, 3), floats(2, 3)]),),
    ),
    *(
        (
            each,
            {"input": floats(4, 6), "split_size": [2, 4], "dim": 1},
            (bad("size", "input", 1, input=floats(4, 6), split_size=[2, 3], dim=1),),
        )
        for each in ("split_with_sizes", "split")
    ),
    (
        "chunk",
        {"input": floats(4, 6), "chunks": 2, "dim": 1},
        (bad("axes", "dim", input=floats(4, 6), chunks=2, dim=2),),
    ),
    ("unbind", {"input": floats(4, 6)}, (bad("axes", "dim", input=floats(4, 6), dim=2),)),
    (
        "narrow",
        {"input": floats(4, 6), "dim": 1, "start": 0, "length": 3},
        (bad("number", "length", input=floats(4, 6), dim=1, start=0, length=7),),
    ),
    picked("gather"),
    *(
        picked(each, src=floats(5, 5))
        for each in ("scatter", "scatter_", "scatter_add", "scatter_add_")
    ),
    (
        "take_along_dim",
        {"input": floats(4, 3), "index": ints(4, 2), "dim": 1},
        (bad("axes", "index", input=floats(4, 3), index=ints(4), dim=1),),
    ),
    (
        "index_select",
        {"input": floats(4, 3), "dim": 0, "index": ints(2)},
        (
            bad("dtype", "index", input=floats(4, 3), dim=0, index=floats(2)),
            bad("axes", "index", input=floats(4, 3), dim=0, index=ints(2, 1)),
            bad("number", "index", input=floats(4, 3), dim=0, index=ints(2, fill=4)),
        ),
    ),
    *(
        (
            each,
            {"input": floats(4, 3), "dim": 0, "index": ints(2), "source": floats(2, 3)},
            (
                bad(
                    "size",
                    "source",
                    0,
                    input=floats(4, 3),
                    dim=0,
                    index=ints(2),
                    source=floats(3, 3),
                ),
            ),
        )
        for each in ("index_add", "index_add_", "index_copy", "index_copy_")
    ),
    ("bincount", {"input": ints(4)}, (bad("dtype", "input", input=floats(4)),)),
    (
        "topk",
        {"input": floats(4, 3), "k": 2},
        (bad("number", "k", input=floats(4, 3), k=4),),
    ),
    ("unsqueeze", {"input": floats(4), "dim": 1}, (bad("axes", "dim", input=floats(4), dim=2),)),
    *(
        (
            each,
            {"input": floats(4, 3), "dim0": 0, "dim1": 1},
            (bad("axes", "dim1", input=floats(4, 3), dim0=0, dim1=2),),
        )
        for each in ("transpose", "swapaxes", "movedim")
    ),
    (
        "select",
        {"input": floats(4, 3), "dim": 0, "index": 1},
        (bad("axes", "dim", input=floats(4, 3), dim=2, index=0),),
    ),
    ("t", {"input": floats(4, 3)}, (bad("axes", "input", input=floats(4, 3, 2)),)),
    (
        "reshape",
        {"input": floats(4, 3), "shape": ((2, -1),)},
        (),
    ),
    (
        "expand_as",
        {"input": floats(1, 3), "other": floats(4, 3)},
        (bad("size", "input", 0, input=floats(2, 3), other=floats(4, 3)),),
    ),
    (
        "view_as",
        {"input": floats(4, 3), "other": floats(3, 4)},
        (bad("size", "input", input=floats(4, 3), other=floats(4, 4)),),
    ),
    (
        "backward",
        {"input": floats(1, grad=True).sum()},
        (
            bad("gradient", "input", input=floats(1)),
            bad("size", "input", input=floats(3, grad=True) * 2),
        ),
    ),
    ("numpy", {"input": floats(3)}, (bad("gradient", "input", input=floats(3, grad=True)),)),
    ("item", {"input": floats(1)}, (bad("size", "input", input=floats(3)),)),
    *(paired(each) for each in ["mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss", "kl_div"]),
    *(paired(each) for each in ["poisson_nll_loss", "hinge_embedding_loss", "soft_margin_loss"]),
    *(
        (
            each,
            {"input": floats(4, 3), "target": floats(4, 3)},
            (
                bad("size", "target", 1, input=floats(4, 3), target=floats(4, 1)),
                bad("axes", "target", input=floats(4, 1), target=floats(4)),
            ),
        )
        for each in ("binary_cross_entropy", "binary_cross_entropy_with_logits")
    ),
    of_classes("cross_entropy"),
    of_classes("nll_loss"),
    (
        "ctc_loss",
        {
            "log_probs": floats(9, 2, 5),
            "targets": ints(2, 3, fill=1),
            "input_lengths": ints(2, fill=9),
            "target_lengths": ints(2, fill=3),
        },
        (
            bad(
                "size",
                "input_lengths",
                0,
                log_probs=floats(2, 9, 5),
                targets=ints(2, 3, fill=1),
                input_lengths=ints(2, fill=9),
                target_lengths=ints(2, fill=3),
            ),
        ),
    ),
    (
        "margin_ranking_loss",
        {"input1": floats(4), "input2": floats(4), "target": floats(4)},
        (
            bad("size", "input1", 0, input1=floats(4), input2=floats(3), target=floats(4)),
            bad("axes", "input1", input1=floats(4), input2=floats(4), target=floats(4, 1)),
        ),
    ),
    (
        "cosine_embedding_loss",
        {"input1": floats(4, 3), "input2": floats(4, 3), "target": floats(4)},
        (bad("size", "target", 0, input1=floats(4, 3), input2=floats(4, 3), target=floats(5)),),
    ),
    (
        "triplet_margin_loss",
        {"anchor": floats(4, 3), "positive": floats(4, 3), "negative": floats(4, 3)},
        (
            bad(
                "size",
                "anchor",
                1,
                anchor=floats(4, 3),
                positive=floats(4, 2),
                negative=floats(4, 3),
            ),
        ),
    ),
    (
        "multilabel_margin_loss",
        {"input": floats(4, 3), "target": ints(4, 3)},
        (bad("size", "target", 1, input=floats(4, 3), target=ints(4, 2)),),
    ),
    (
        "multi_margin_loss",
        {"input": floats(4, 3), "target": ints(4)},
        (bad("size", "target", 0, input=floats(4, 3), target=ints(5)),),
    ),
]
FUNCTIONS: dict[str, Callable[..., Any]] = {
    **{name: getattr(functional, name) for name in ("kl_div", "pad", "interpolate", "one_hot")},
    **{f"max_pool{n}d": getattr(functional, f"max_pool{n}d") for n in (1, 2, 3)},
    **{f"adaptive_max_pool{n}d": getattr(functional, f"adaptive_max_pool{n}d") for n in (1, 2, 3)},
    **{
        name: getattr(functional, name)
        for name in [
            "cross_entropy",
            "nll_loss",
            "binary_cross_entropy",
            "binary_cross_entropy_with_logits",
            "poisson_nll_loss",
            "hinge_embedding_loss",
            "margin_ranking_loss",
            "cosine_embedding_loss",
            "triplet_margin_loss",
            "ctc_loss",
            "rms_norm",
            "group_norm",
            "layer_norm",
            "scaled_dot_product_attention",
        ]
    },
    "split": torch.split,
    "embedding": lambda weight, input: functional.embedding(input, weight),
    "reshape": torch.reshape,
}


@pytest.mark.parametrize(("operation", "fits"), [case[:2] for case in CALLS])
def test_a_call_that_meets_all_demands_runs(operation: str, fits: dict[str, Any]) -> None:
    assert first_conflict(operation, fits) is None
    run(operation, fits, FUNCTIONS.get(operation))


BROKEN = [(operation, broken) for operation, _, several in CALLS for broken in several]


@pytest.mark.parametrize(
    ("operation", "broken"), BROKEN, ids=[f"{name}-{at}" for at, (name, _) in enumerate(BROKEN)]
)
def test_a_call_that_breaks_a_demand_raises_and_the_side_is_named(
    operation: str, broken: Broken
) -> None:
    conflict = first_conflict(operation, broken.arguments)
    with pytest.raises((RuntimeError, ValueError, IndexError, TypeError, NotImplementedError)):
        run(operation, broken.arguments, FUNCTIONS.get(operation))
    assert conflict is not None
    assert (conflict.about, conflict.side.argument) == (broken.about, broken.argument)
    assert broken.axis is None or conflict.side.axis == broken.axis


def test_methods_with_sizes() -> None:
    assert first_conflict("view", {"input": floats(4, 3), "shape": (2, -1)}) is None
    assert first_conflict("expand", {"input": floats(1, 3), "sizes": (4, -1)}) is None
    for operation, name, sizes in (
        ("view", "shape", (5, -1)),
        ("view", "shape", (4, 4)),
        ("expand", "sizes", (4, 4)),
        ("permute", "dims", (0, 1, 2)),
    ):
        x = floats(4, 3)
        assert first_conflict(operation, {"input": x, name: sizes}) is not None
        with pytest.raises(RuntimeError):
            getattr(x, operation)(*sizes)


def test_a_view_of_a_transposed_tensor() -> None:
    x = floats(4, 3).t()
    conflict = first_conflict("view", {"input": x, "shape": (12,)})
    assert conflict is not None
    assert conflict.about == "layout"
    with pytest.raises(RuntimeError):
        x.view(12)


def test_lengths_that_do_not_decrease() -> None:
    lengths = torch.tensor([1, 3])
    with pytest.raises(RuntimeError):
        pack_padded_sequence(floats(2, 3, 4), lengths, batch_first=True)
    conflict = first_conflict(
        "_pack_padded_sequence", {"input": floats(2, 3, 4), "lengths": lengths, "batch_first": True}
    )
    assert conflict is not None
    assert conflict.about == "setting"


SHAPES = st.lists(st.sampled_from([1, 2, 3]), min_size=1, max_size=3).map(tuple)


def raises(operation: str, arguments: dict[str, Any]) -> bool:
    try:
        run(operation, arguments, FUNCTIONS.get(operation))
    except (RuntimeError, IndexError, ValueError):
        return True
    return False


@settings(deadline=None, max_examples=60)
@hypothesis_given(SHAPES, SHAPES, st.sampled_from(["add", "matmul", "bmm", "mm", "mul_", "dot"]))
def test_two_operands_of_any_shape(
    first: tuple[int, ...], second: tuple[int, ...], operation: str
) -> None:
    arguments = {"input": floats(*first), "other": floats(*second)}
    assert raises(operation, arguments) is (first_conflict(operation, arguments) is not None)


@settings(deadline=None, max_examples=60)
@hypothesis_given(SHAPES, SHAPES, st.integers(-3, 2))
def test_joins_of_any_shape(first: tuple[int, ...], second: tuple[int, ...], dim: int) -> None:
    for operation in ("cat", "stack"):
        arguments = {"tensors": [floats(*first), floats(*second)], "dim": dim}
        assert raises(operation, arguments) is (first_conflict(operation, arguments) is not None)


@settings(deadline=None, max_examples=60)
@hypothesis_given(SHAPES, SHAPES, st.integers(0, 2), st.integers(0, 3))
def test_indices_of_any_shape(
    first: tuple[int, ...], second: tuple[int, ...], dim: int, fill: int
) -> None:
    for operation in ("gather", "index_select"):
        arguments = {"input": floats(*first), "dim": dim, "index": ints(*second, fill=fill)}
        assert raises(operation, arguments) is (first_conflict(operation, arguments) is not None)


@settings(deadline=None, max_examples=60)
@hypothesis_given(SHAPES.filter(lambda shape: len(shape) > 1), SHAPES)
def test_losses_of_any_shape(first: tuple[int, ...], second: tuple[int, ...]) -> None:
    scores, target = floats(*first), ints(*second)
    arguments = {"input": scores, "target": target}
    assert raises("cross_entropy", arguments) is (
        first_conflict("cross_entropy", arguments) is not None
    )
