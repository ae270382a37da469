"""Values that come from outside of the source: flags, keys of configurations, the environment."""

from collections.abc import Iterator
from functools import wraps
from types import ModuleType
from typing import Any

from surefit.lineage.producers import Way
from surefit.observe.inside import spool
from surefit.observe.inside.after_import import after_import
from surefit.observe.inside.lineage import records
from surefit.observe.inside.lineage.records import Record, Records
from surefit.observe.inside.lineage.wrapping import Node, nodes

LOADERS = {"load", "loads", "safe_load", "full_load", "unsafe_load"}
FORMATS = {"json", "yaml", "toml", "tomllib", "tomli", "OmegaConf", "pickle"}
FROM_ENVIRONMENT = {"os.environ.get", "environ.get", "os.getenv", "getenv"}
SETTING = "setting"


def install() -> None:
    after_import("argparse")(flags)
    after_import("transformers.hf_argparser")(flags_of_dataclasses)


def flags(module: ModuleType) -> None:
    kind = module.ArgumentParser
    plain = kind.parse_known_args

    @wraps(plain)
    def parse_known_args(self: Any, *args: Any, **kwargs: Any) -> Any:
        result = plain(self, *args, **kwargs)
        note_flags(self, result[0])
        return result

    kind.parse_known_args = parse_known_args


@spool.guarded("flags of the command line")
def note_flags(parser: Any, namespace: Any) -> None:
    """Each flag is what its attribute of the namespace came from."""
    recorder = records.records
    if recorder is None:
        return
    for action in parser._actions:
        if action.dest in vars(namespace):
            name = action.option_strings[-1] if action.option_strings else action.dest
            note_setting(recorder, name, vars(namespace)[action.dest], action)
            recorder.assign(namespace, action.dest, recorder.settings[action.dest])


def note_setting(recorder: Records, name: str, value: Any, action: Any) -> None:
    record = recorder.add(-1, value, 1)
    record.operation = SETTING, name, None
    declared = recorder.newest_of(action)
    record.came = ((declared, Way.ARGUMENT, name),) if declared else ()
    recorder.settings[action.dest] = record.serial


def flags_of_dataclasses(module: ModuleType) -> None:
    kind = module.HfArgumentParser
    plain = kind.parse_args_into_dataclasses

    @wraps(plain)
    def parse_args_into_dataclasses(*args: Any, **kwargs: Any) -> Any:
        result = plain(*args, **kwargs)
        note_fields(result)
        return result

    kind.parse_args_into_dataclasses = parse_args_into_dataclasses


@spool.guarded("flags of the command line")
def note_fields(parsed: Any) -> None:
    recorder = records.records
    for thing in parsed if recorder is not None else ():
        for name in vars(thing) if hasattr(thing, "__dict__") else ():
            if recorder is not None and name in recorder.settings:
                recorder.assign(thing, name, recorder.settings[name])


def setting_read(record: Record, node: Node, recorder: Records) -> str:
    """The key or variable that an expression reads, or empty."""
    if node.kind == "call" and node.name in FROM_ENVIRONMENT:
        return next(
            (str(child.value) for role, child in parts(record, node, recorder) if role == "0"), ""
        )
    if node.kind != "subscript" or not node.name:
        return ""
    holder = next(
        (child for role, child in parts(record, node, recorder) if role == "object"), None
    )
    if holder is None or holder.node < 0:
        return ""
    if type(holder.value).__name__ == "_Environ":
        return node.name
    if nodes[holder.node].text == "sys.argv":
        return f"argument {node.name}"
    return node.name if is_configuration(holder, recorder) else ""


def parts(record: Record, node: Node, recorder: Records) -> Iterator[tuple[str, Record]]:
    roles = dict(node.slots)
    for serial in record.children:
        child = recorder.by_serial.get(serial)
        if child is not None and child.node in roles:
            yield roles[child.node], child


def is_configuration(holder: Record, recorder: Records) -> bool:
    """It was read from a file, as a whole or as a part of what was read."""
    met: set[int] = set()
    waiting = [holder]
    for record in waiting:
        if record.serial in met or record.node < 0 or len(met) > 40:
            continue
        met.add(record.serial)
        node = nodes[record.node]
        format_, _, word = node.name.rpartition(".")
        if node.kind == "call" and word in LOADERS and format_.rpartition(".")[2] in FORMATS:
            return True
        if node.kind in ("name", "parameter", "subscript", "attribute", "call"):
            ways = (Way.BINDING, Way.ARGUMENT, Way.ATTRIBUTE, Way.RETURNED, Way.SAME_OBJECT)
            linked = [serial for serial, way, _ in record.came if way in ways]
            inner = record.children[:1] if node.kind == "subscript" else ()
            waiting += [
                recorder.by_serial[child]
                for child in (*linked, *inner)
                if child in recorder.by_serial
            ]
    return False
