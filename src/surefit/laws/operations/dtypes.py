"""Dtypes of torch, and the methods of a tensor that cast to them."""

TENSOR_CASTS = {
    "int64": "long",
    "float32": "float",
    "float64": "double",
    "float16": "half",
    "bfloat16": "bfloat16",
    "bool": "bool",
    "int32": "int",
}
"""In the order in which casts are tried."""
CAST_BY = {method: dtype for dtype, method in TENSOR_CASTS.items()}
"""Also other names of dtypes: `torch.long` is `torch.int64`."""
