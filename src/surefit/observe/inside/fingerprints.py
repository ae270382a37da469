"""Probed functions are pickled and fingerprinted as the user wrote them.

`datasets` names its cache by a hash of a mapped function's bytecode, and other processes are sent
functions by value; neither may see a probe.
"""

from functools import cache, wraps
from types import CodeType, ModuleType
from typing import Any
from warnings import catch_warnings, simplefilter

from surefit.observe.inside.after_import import after_import
from surefit.observe.inside.caught.swallowed import Probed, sources
from surefit.observe.inside.spool import could_not


@cache
def _plain_codes(file: str, probed: Probed) -> dict[CodeType, CodeType]:
    """Probed -> plain, for every function: probes move none, so they stand in the same order."""
    with catch_warnings():
        simplefilter("ignore")  # said when the probed code was made
        unprobed = compile(probed.raw, file, "exec", dont_inherit=True)
    found: dict[CodeType, CodeType] = {}
    _pair(probed.code, unprobed, found)
    return found


def _pair(probed: CodeType, unprobed: CodeType, found: dict[CodeType, CodeType]) -> CodeType:
    """The plain code, with the very strings of the probed one: a function's own name and text are
    these objects, and pickles tell equal from same."""
    strings = {one: one for one in probed.co_consts if type(one) is str}
    inside = [
        _pair(one, other, found)
        for one, other in zip(_inside(probed), _inside(unprobed), strict=True)
    ]
    codes = iter(inside)

    def constant(one: Any) -> Any:
        if type(one) is str:
            return strings.get(one, one)
        return next(codes) if isinstance(one, CodeType) else one

    found[probed] = unprobed.replace(
        co_consts=tuple(map(constant, unprobed.co_consts)),
        co_name=probed.co_name,
        co_qualname=probed.co_qualname,
        co_filename=probed.co_filename,
    )
    return found[probed]


def _inside(code: CodeType) -> list[CodeType]:
    return [constant for constant in code.co_consts if isinstance(constant, CodeType)]


def plain(code: CodeType) -> CodeType:
    """The code that the same source has without probes."""
    probed = sources.get(code.co_filename)
    if probed is None:
        return code
    try:
        return _plain_codes(code.co_filename, probed).get(code, code)
    except Exception as error:  # noqa: BLE001 - as it is, it still runs in observed processes
        could_not(f"functions of {code.co_filename} without probes", error)
        return code


@after_import("dill._dill")
def dill(module: ModuleType) -> None:
    save = module.Pickler.save

    @wraps(save)
    def saves_plain(self: Any, obj: Any, *args: Any, **kwargs: Any) -> Any:
        return save(self, plain(obj) if type(obj) is CodeType else obj, *args, **kwargs)

    module.Pickler.save = saves_plain


@after_import("dill.detect")
def names_used(module: ModuleType) -> None:
    """Which globals go along with a function; the probes are among the builtins."""
    nested = module.nestedglobals

    @wraps(nested)
    def nestedglobals(func: Any, recurse: bool = True) -> Any:
        code = func if type(func) is CodeType else getattr(func, "__code__", None)
        return nested(plain(code) if type(code) is CodeType else func, recurse)

    module.nestedglobals = nestedglobals  # type: ignore[attr-defined]


def cloudpickle(module: ModuleType) -> None:
    """Its second version keeps this in `cloudpickle_fast`, its third in `cloudpickle`."""
    reduce = vars(module).get("_code_reduce")
    pickler = vars(module).get("CloudPickler")
    if reduce is None or pickler is None:
        return

    @wraps(reduce)
    def reduces_plain(code: CodeType) -> Any:
        return reduce(plain(code))

    pickler._dispatch_table[CodeType] = reduces_plain


for _copy in ("", "joblib.externals.", "ray.", "pyspark."):
    for _part in ("cloudpickle", "cloudpickle_fast"):
        after_import(f"{_copy}cloudpickle.{_part}")(cloudpickle)
