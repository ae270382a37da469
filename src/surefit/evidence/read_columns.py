"""Columns of datasets, as the source of a script shows them."""

import ast

from surefit.source.outcomes import maker
from surefit.source.reading import Source, called

MADE = (
    *("from_dict", "from_list", "from_pandas", "from_csv", "from_json", "from_generator"),
    *("from_parquet", "from_text", "from_polars"),
)
KEEPS = ("map", "filter", "select", "shuffle", "rename_column", "remove_columns", "sort", "shard")
FORMATS = ("with_format", "set_format", "with_transform", "set_transform", "to_iterable_dataset")


def is_read_column(source: Source, node: ast.expr) -> bool:
    """`rows["text"]` of a dataset, which no format changes."""
    if not isinstance(node, ast.Subscript) or not isinstance(node.slice, ast.Constant):
        return False
    formats = any(one.attr in FORMATS for one in source.every(ast.Attribute))
    named = isinstance(node.slice.value, str)
    return named and not formats and is_dataset(source, node.value)


def is_dataset(source: Source, node: ast.expr, deep: int = 0) -> bool:
    """A `datasets.Dataset`: loaded with a split, a split of what was loaded, or made of rows."""
    if deep > 12:
        return False
    if isinstance(node, ast.Subscript):
        return is_dictionary(source, node.value)
    made = maker(source, node)
    if made is None:
        return False
    name = source.imported(made.func)
    if name == "datasets.load_dataset":
        streamed = source.argument(made, "streaming") is not None
        return source.argument(made, "split", 5) is not None and not streamed
    if name.startswith("datasets.Dataset."):
        return called(made) in MADE
    if isinstance(made.func, ast.Attribute) and made.func.attr in KEEPS:
        return is_dataset(source, made.func.value, deep + 1)
    return False


def is_dictionary(source: Source, node: ast.expr) -> bool:
    """`load_dataset(...)` without a split, or `rows.train_test_split(...)`."""
    made = maker(source, node)
    if made is None or any(one.arg is None for one in made.keywords):
        return False
    if source.imported(made.func) == "datasets.load_dataset":
        named = {one.arg for one in made.keywords}
        return not named & {"split", "streaming"} and len(made.args) <= 2
    splits = isinstance(made.func, ast.Attribute) and made.func.attr == "train_test_split"
    return splits and isinstance(made.func, ast.Attribute) and is_dataset(source, made.func.value)
