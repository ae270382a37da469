"""Hostile tables, arrays, pickles and folders: what a library writes, and what it would not."""

import datetime
import io
import json
import os
import pickle
import shutil
import struct
import zipfile
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import torch
from safetensors.numpy import save as save_safetensors

from .oddities import Write, fifo, mutated
from .texts import EVIL, SIDE_EFFECT, deep, odd_value, rarely, rows

Bytes = Callable[[Random], bytes]


class Evil:
    """A pickle that runs something when it is read."""

    def __reduce__(self) -> tuple[Any, tuple[str]]:
        return exec, (SIDE_EFFECT,)


def parquet_of(table: pa.Table, **how: Any) -> bytes:
    written = io.BytesIO()
    pq.write_table(table, written, **how)
    return written.getvalue()


def arrow_of(table: pa.Table, stream: bool = False, **how: Any) -> bytes:
    written = io.BytesIO()
    options = pa.ipc.IpcWriteOptions(**how)
    new = pa.ipc.new_stream if stream else pa.ipc.new_file
    with new(written, table.schema, options=options) as writer:
        writer.write_table(table)
    return written.getvalue()


def text_table(random: Random) -> pa.Table:
    return pa.Table.from_pylist(rows(random))


def with_column(kind: Any, values: list[Any] | Any) -> pa.Table:
    column = values if isinstance(values, pa.Array) else pa.array(values, kind)
    return pa.table({"input": column, "target": pa.array(["x"] * len(column))})


def not_utf8() -> pa.Array:
    raw = [b"\xff\xfe", b"ok", b"\xed\xa0\x80"]
    return pa.Array.from_buffers(pa.string(), 3, pa.array(raw, pa.binary()).buffers())


FAR = 2**53
TABLES: dict[str, Callable[[Random], pa.Table]] = {
    "dates out of range": lambda r: with_column(
        None,
        pa.array([FAR, -FAR, 0], pa.int64()).cast(pa.timestamp(r.choice(("s", "ms", "us", "ns")))),
    ),
    "days out of range": lambda _: with_column(
        None, pa.array([2**31 - 1, -(2**31), 0], pa.int32()).cast(pa.date32())
    ),
    "durations out of range": lambda _: with_column(
        None, pa.array([FAR, -FAR, 0], pa.int64()).cast(pa.duration("s"))
    ),
    "unknown time zone": lambda _: with_column(
        None, pa.array([1, 2, 3], pa.int64()).cast(pa.timestamp("s", "Mars/Olympus"))
    ),
    "times": lambda _: with_column(pa.time64("us"), [datetime.time(1)] * 3),
    "not UTF-8": lambda _: with_column(None, not_utf8()),
    "binary": lambda _: with_column(pa.binary(), [b"\xff\0", None, b""]),
    "very long string": lambda r: with_column(pa.string(), ["x" * rarely(r, 10**7), "b"]),
    "very long text of words": lambda _: with_column(pa.string(), ["word " * 10**6, "b"]),
    "nothing but nulls": lambda _: with_column(pa.null(), [None] * 10),
    "very many nulls": lambda r: with_column(pa.null(), pa.nulls(rarely(r, 2_000_000))),
    "no columns": lambda _: pa.table({}),
    "very many columns": lambda _: pa.table({f"c{n}": ["x"] * 2 for n in range(5000)}),
    "lists within lists": lambda r: pa.table(
        {"input": nested(r.choice((20, 60))), "target": ["x"]}
    ),
    "structs": lambda _: with_column(None, [{"a": {"b": [1]}}] * 3),
    "maps": lambda _: with_column(pa.map_(pa.string(), pa.int32()), [[("a", 1), ("a", 2)]] * 3),
    "decimals": lambda _: with_column(pa.decimal256(76, 10), [None, 1, 2]),
    "dictionary": lambda _: with_column(None, pa.array(["a", "b", "a"]).dictionary_encode()),
    "escapes": lambda _: pa.table({EVIL: [EVIL], "input": [EVIL], "target": [EVIL]}),
    "columns twice": lambda _: pa.Table.from_arrays([pa.array(["a"])] * 3, ["input", "input", ""]),
    "turns of odd types": lambda _: pa.table({"messages": [[{"role": 1, "content": [None]}]] * 3}),
    "very many equal rows": lambda _: with_column(
        None, pa.DictionaryArray.from_arrays(pa.array(np.zeros(1_000, "i4")), ["x" * 2000])
    ),
}


def nested(depth: int) -> pa.Array:
    kind: Any = pa.string()
    value: Any = "x"
    for _ in range(depth):
        kind, value = pa.list_(kind), [value]
    return pa.array([value], kind)


def as_parquet(make: Callable[[Random], pa.Table]) -> Bytes:
    return lambda random: parquet_of(make(random))


def as_arrow(make: Callable[[Random], pa.Table]) -> Bytes:
    return lambda random: arrow_of(make(random), stream=random.random() < 0.5)


PARQUET: dict[str, Bytes] = {
    **{label: as_parquet(make) for label, make in TABLES.items()},
    "many row groups": lambda r: parquet_of(text_table(r), row_group_size=1),
    "only a footer": lambda _: b"PAR1" + struct.pack("<i", 2**31 - 1) + b"PAR1",
    "foreign metadata": lambda r: parquet_of(
        text_table(r).replace_schema_metadata({b"pandas": b"{", b"huggingface": deep(r).encode()})
    ),
}
ARROW: dict[str, Bytes] = {
    **{label: as_arrow(make) for label, make in TABLES.items() if label != "very many equal rows"},
    "only a beginning": lambda _: b"ARROW1\0\0" + b"\xff\xff\xff\xff\xff\xff\xff\x7f",
    "long metadata": lambda _: b"\xff\xff\xff\xff" + struct.pack("<i", 2**31 - 8) + b"\0" * 100,
}


def features(random: Random) -> np.ndarray:
    return np.random.default_rng(random.randrange(2**32)).random((6, 4, 3)).astype("f4")


def list_table(random: Random) -> pa.Table:
    flat = pa.array(features(random).reshape(-1))
    return pa.table({"x": pa.FixedSizeListArray.from_arrays(flat, 12)})


def npy_of(values: np.ndarray) -> bytes:
    written = io.BytesIO()
    np.save(written, values)
    return written.getvalue()


def npy_header(text: str, version: bytes = b"\x01\x00", rest: bytes = b"\0" * 288) -> bytes:
    raw = text.encode("utf-8", "surrogatepass")
    length = struct.pack("<H" if version == b"\x01\x00" else "<I", len(raw))
    return b"\x93NUMPY" + version + length + raw + rest


NPY_HEADERS = (
    "{'descr': '<f4', 'fortran_order': False, 'shape': (10**9, 4, 3)}",
    "{'descr': '<f4', 'fortran_order': False, 'shape': (1000000000000, 4, 3)}",
    "{'descr': '<f4', 'fortran_order': False, 'shape': (-6, 4, 3)}",
    "{'descr': '<f4', 'fortran_order': False, 'shape': (0, 99999999999, 3)}",
    "{'descr': '<f4', 'fortran_order': False, 'shape': (True, 4, 3)}",
    "{'descr': '<f4', 'fortran_order': 1, 'shape': 6}",
    "{'descr': '|O', 'fortran_order': False, 'shape': (6,)}",
    "{'descr': '<M8[s]', 'fortran_order': False, 'shape': (36,)}",
    "{'descr': '<U99999999', 'fortran_order': False, 'shape': (6,)}",
    "{'descr': '<f0', 'fortran_order': False, 'shape': (6,)}",
    "{'descr': [('a', '<f4'), ('b', 'O')], 'fortran_order': False, 'shape': (6,)}",
    "{'descr': 'evil\x1b[31m', 'fortran_order': False, 'shape': (6,)}",
    "{'descr': __import__('os').system('touch executed'), 'fortran_order': 0, 'shape': ()}",
    "{'descr': '<f4', 'fortran_order': False, 'shape': (" + "9" * 5000 + ",)}",
    "{'descr': '<f4', 'fortran_order': False, 'shape': " + "(" * 3000 + ")" * 3000 + "}",
    "{'descr': '<f4', 'fortran_order': False, 'shape': (" + "1," * 3000 + ")}",
    "[" * 5000,
    "{}",
    "\0" * 100,
    "",
)


def npz_of(members: dict[str, bytes], how: int = zipfile.ZIP_DEFLATED) -> bytes:
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w", how) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return written.getvalue()


def bomb(random: Random) -> bytes:
    """Rows of gigabytes in a file of kilobytes: the zeros are compressed in pieces."""
    size = rarely(random, 1 << 31, 1 << 28)
    header = npy_header(
        f"{{'descr': '<f4', 'fortran_order': False, 'shape': (1, 4, {size // 16})}}", rest=b""
    )
    written = io.BytesIO()
    with (
        zipfile.ZipFile(written, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive,
        archive.open("x.npy", "w", force_zip64=True) as member,
    ):
        member.write(header)
        for _ in range(size >> 24):
            member.write(bytes(1 << 24))
    return written.getvalue()


def lying_member(random: Random) -> bytes:
    """The list of members promises other sizes than there are."""
    raw = bytearray(npz_of({"x.npy": npy_of(features(random))}, zipfile.ZIP_STORED))
    at = raw.rfind(b"PK\x01\x02")
    field = random.choice((10, 16, 20, 24, 28, 30, 34, 42))
    raw[at + field : at + field + 4] = random.choice((b"\xff\xff\xff\x7f", b"\xff" * 4, b"\0" * 4))
    return bytes(raw)


NPY: dict[str, Bytes] = {
    "odd header": lambda r: npy_header(r.choice(NPY_HEADERS)),
    "odd header of a later version": lambda r: npy_header(
        r.choice(NPY_HEADERS), r.choice((b"\x02\x00", b"\x03\x00", b"\x09\x07"))
    ),
    "long header": lambda _: b"\x93NUMPY\x02\x00" + struct.pack("<I", 2**32 - 1) + b"{" * 100,
    "objects": lambda _: pickled_array(),
    "not finite": lambda _: npy_of(np.full((6, 4, 3), np.nan, "f4")),
    "other byte order": lambda r: npy_of(features(r).astype(">f8")),
    "Fortran order": lambda r: npy_of(np.asfortranarray(features(r))),
    "no axes": lambda _: npy_of(np.ones((), "f4")),
    "64 axes": lambda _: npy_of(np.zeros((1,) * 32, "f4")),
    "no rows": lambda _: npy_of(np.zeros((0, 4, 3), "f4")),
    "complex": lambda _: npy_of(np.zeros((6, 4, 3), "c8")),
    "text": lambda _: npy_of(np.array([EVIL] * 6)),
    "structured": lambda _: npy_of(np.zeros(6, [("a", "f4"), (EVIL, "i4")])),
}


def pickled_array() -> bytes:
    written = io.BytesIO()
    np.save(written, np.array([Evil()], object), allow_pickle=True)
    return written.getvalue()


NPZ: dict[str, Bytes] = {
    "bomb": bomb,
    "lying list of members": lying_member,
    "objects": lambda _: npz_of({"x.npy": pickled_array()}),
    "odd header": lambda r: npz_of({"x.npy": npy_header(r.choice(NPY_HEADERS))}),
    "names that lead outside": lambda r: npz_of({"../../x.npy": npy_of(features(r))}),
    "escapes in a name": lambda r: npz_of({f"{EVIL}.npy": npy_of(features(r)[0])}),
    "escapes in names": lambda r: npz_of({f"{EVIL}{n}.npy": npy_of(features(r)) for n in range(9)}),
    "member twice": lambda r: npz_of({"x.npy": b"", "X.npy": npy_of(features(r)), "x": b""}),
    "very many members": lambda _: npz_of({f"{n}.npy": b"" for n in range(5000)}),
    "encrypted": lambda r: npz_of({"x.npy": npy_of(features(r))}).replace(
        b"PK\x01\x02\x14\x03\x14\0\0\0", b"PK\x01\x02\x14\x03\x14\0\x01\0"
    ),
    "other ways to compress": lambda r: npz_of(
        {"x.npy": npy_of(features(r))}, r.choice((zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA))
    ),
    "not an archive": lambda _: b"PK\x03\x04" + b"\0" * 100,
    "empty archive": lambda _: npz_of({}),
}


def torch_of(value: Any, **how: Any) -> bytes:
    written = io.BytesIO()
    torch.save(value, written, **how)
    return written.getvalue()


def other_pickle(content: bytes) -> Bytes:
    """An archive of torch with another pickle in it."""

    def made(random: Random) -> bytes:
        whole = io.BytesIO(torch_of(torch.from_numpy(features(random))))
        written = io.BytesIO()
        with zipfile.ZipFile(whole) as before, zipfile.ZipFile(written, "w") as after:
            for name in before.namelist():
                raw = before.read(name)
                after.writestr(name, content if name.endswith("data.pkl") else raw)
        return written.getvalue()

    return made


def reshaped(random: Random) -> bytes:
    """A tensor of another size than its storage."""
    whole = io.BytesIO(torch_of(torch.from_numpy(features(random))))
    written = io.BytesIO()
    size = random.choice((b"K\xff", b"M\xff\xff", b"J\xff\xff\xff\x7f", b"J\xff\xff\xff\xff"))
    with zipfile.ZipFile(whole) as before, zipfile.ZipFile(written, "w") as after:
        for name in before.namelist():
            raw = before.read(name)
            if name.endswith("data.pkl"):
                raw = raw.replace(random.choice((b"K\x06", b"K\x04", b"KH", b"K\x0c")), size, 1)
            after.writestr(name, raw)
    return written.getvalue()


TORCH: dict[str, Bytes] = {
    "side effect": lambda _: torch_of({"x": Evil()}),
    "side effect, older format": lambda _: torch_of(Evil(), _use_new_zipfile_serialization=False),
    "plain pickle with a side effect": lambda r: pickle.dumps(Evil(), protocol=r.randrange(6)),
    "side effect in an archive": other_pickle(pickle.dumps(Evil())),
    "other pickle": lambda r: other_pickle(
        r.choice(
            (
                *(b"", b".", b"N.", b"(", b"0.", b"\x80\x02]q\0h\0a.", b"\x80\x02h\xff."),
                *(b"\x80\x02" + b"(" * 50_000 + b"t" * 50_000 + b".", b"\x80\xff.", b"\x80\x02}."),
                *(b"\x80\x02cos\nsystem\n.", b"\x80\x02\x8a\xff" + b"9" * 255 + b".", b"I9\n."),
                *(
                    b"\x80\x02X\xff\xff\xff\x7f.",
                    b"\x80\x02B\xff\xff\xff\x7fx.",
                    b"\x80\x02(K\x01Q.",
                ),
                *(b"\x80\x02]" + b"]" * 100_000 + b"a" * 100_000 + b".", b"\x80\x02K\x01Q."),
            )
        )
    )(r),
    "other sizes": reshaped,
    "odd values": lambda r: torch_of(
        r.choice((None, 1, "x", [], {}, (1, 2), {"x": 1}, {1: torch.zeros(6, 4, 3)}))
    ),
    "very many tensors": lambda _: torch_of({f"{EVIL}{n}": torch.zeros(1) for n in range(500)}),
    "odd tensors": lambda r: torch_of(
        r.choice(
            (
                torch.zeros(6, 4, 3, dtype=torch.bfloat16),
                torch.zeros(6, 4, 3, dtype=torch.complex64),
                torch.zeros(6, 4, 3).to_sparse(),
                torch.zeros(1).expand(6, 4, 3),
                torch.zeros(1).expand(1 << 20, 1 << 10, 3),
                torch.zeros(6, 4, 3, device="meta"),
                torch.zeros(6, 4, 3, requires_grad=True),
                torch.quantize_per_tensor(torch.zeros(6, 4, 3), 0.1, 0, torch.qint8),
                torch.nn.Parameter(torch.zeros(6, 4, 3)),
                torch.zeros(()),
                torch.zeros(6, 0, 3),
            )
        )
    ),
    "a model": lambda _: torch_of(torch.nn.Linear(2, 2)),
    "older format": lambda r: torch_of(
        torch.from_numpy(features(r)), _use_new_zipfile_serialization=False
    ),
    "older format, changed": lambda r: mutated(
        r, torch_of(torch.from_numpy(features(r)), _use_new_zipfile_serialization=False)
    ),
}


def safetensors_header(header: Any, rest: bytes = b"\0" * 288) -> bytes:
    raw = header.encode() if isinstance(header, str) else json.dumps(header).encode()
    return struct.pack("<Q", len(raw)) + raw + rest


def odd_entry(random: Random) -> bytes:
    entry: dict[str, Any] = {"dtype": "F32", "shape": [6, 4, 3], "data_offsets": [0, 288]}
    entry[random.choice(tuple(entry))] = random.choice(
        (
            *("F8", "F9", "\x1b", [6, -4, -3], [2**62, 2**62], [0, 2**63], [-288, 0], [288, 0]),
            *(
                [0, 2**64],
                [2**70, 1, 1],
                [1] * 5000,
                [True],
                ["6"],
                [6.0],
                [[6]],
                odd_value(random),
            ),
        )
    )
    return safetensors_header({random.choice(("x", EVIL)): entry})


SAFETENSORS: dict[str, Bytes] = {
    "odd entry": odd_entry,
    "nested deeply": lambda r: safetensors_header('{"x": ' + deep(r) + "}"),
    "nested deeply in metadata": lambda r: safetensors_header('{"__metadata__": ' + deep(r) + "}"),
    "integer of 5,000 digits": lambda _: safetensors_header(
        '{"x": {"dtype": "F32", "shape": [' + "9" * 5000 + '], "data_offsets": [0, 288]}}'
    ),
    "odd header": lambda r: safetensors_header(odd_value(r)),
    "long header": lambda r: (
        struct.pack("<Q", r.choice((2**63, 2**64 - 1, 10**8, 289))) + b"{" * 99
    ),
    "overlapping": lambda _: safetensors_header(
        {n: {"dtype": "F32", "shape": [6, 4, 3], "data_offsets": [0, 288]} for n in "ab"}
    ),
    "very many tensors": lambda _: safetensors_header(
        {str(n): {"dtype": "F32", "shape": [0], "data_offsets": [0, 0]} for n in range(50_000)}
    ),
    "key twice": lambda _: safetensors_header(
        '{"x": {"dtype": "F32", "shape": [72], "data_offsets": [0, 288]}, "x": {}}'
    ),
    "one huge row": lambda _: safetensors_header(
        {"x": {"dtype": "F32", "shape": [1, 2**40], "data_offsets": [0, 2**42]}}
    ),
}


def pickles(random: Random, path: Path) -> None:
    path.write_bytes(pickle.dumps(Evil(), protocol=random.randrange(6)))


# folders


def datasets_folder(random: Random, path: Path) -> None:
    """As `datasets` saves one; written by hand, for speed."""
    path.mkdir()
    name = "data-00000-of-00001.arrow"
    (path / name).write_bytes(arrow_of(text_table(random), stream=True))
    kind = {"dtype": "string", "_type": "Value"}
    information = {"features": {"input": kind, "target": kind}, "citation": "", "license": ""}
    (path / "dataset_info.json").write_text(json.dumps(information))
    state: dict[str, Any] = {
        "_data_files": [{"filename": name}],
        "_fingerprint": "0",
        "_format_type": None,
    }
    state |= {"_format_columns": None, "_format_kwargs": {}, "_split": None}
    state |= {"_output_all_columns": False}
    (path / "state.json").write_text(json.dumps(state))


def odd_datasets_folder(random: Random, path: Path) -> None:
    if random.random() < 0.2:
        path.mkdir()
        datasets_folder(random, path / "train")
        splits = random.choice((["train"], ["test"], "train", {"train": 1}, [1], ["../.."], None))
        (path / "dataset_dict.json").write_text(json.dumps({"splits": splits}))
        change_json(random, path / "train" / "state.json")
        return
    datasets_folder(random, path)
    file = path / random.choice(("dataset_info.json", "state.json"))
    random.choice((change_json, change_json, odd_json, mutate, replace_by_fifo, remove))(
        random, file
    )


def odd_arrow_in_datasets_folder(random: Random, path: Path) -> None:
    datasets_folder(random, path)
    file = path / "data-00000-of-00001.arrow"
    random.choice((mutate, replace_by_fifo, remove, other_arrow))(random, file)


def other_arrow(random: Random, file: Path) -> None:
    file.write_bytes(ARROW[random.choice(tuple(ARROW))](random))


def change_json(random: Random, file: Path) -> None:
    """One value, somewhere, is of another type."""
    whole = json.loads(file.read_bytes())
    holders = list(holders_in(whole))
    holder = random.choice(holders)
    keys = list(holder) if isinstance(holder, dict) else list(range(len(holder)))
    holder[random.choice(keys)] = odd_value(random)
    file.write_text(json.dumps(whole))


def holders_in(value: Any) -> list[Any]:
    """Dictionaries and lists with something in them."""
    inside = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [value] * bool(inside) + [holder for one in inside for holder in holders_in(one)]


def odd_json(random: Random, file: Path) -> None:
    file.write_text(random.choice((deep(random), "", "{", "null", "9" * 5000, "[]", "\0")))


def mutate(random: Random, file: Path) -> None:
    file.write_bytes(mutated(random, file.read_bytes()))


def replace_by_fifo(random: Random, file: Path) -> None:
    file.unlink()
    random.choice((fifo, lambda _, path: path.symlink_to("/dev/zero")))(random, file)


def remove(_: Random, file: Path) -> None:
    file.unlink()


CODE = f"import torch\n{SIDE_EFFECT}\nclass EvilConfig: pass\n"
MODEL_FILES = ("config.json", "tokenizer.json", "tokenizer_config.json", "generation_config.json")


def model_folder(path: Path) -> None:
    from surefit.embedded import MODEL

    shutil.copytree(MODEL, path)


def odd_model(random: Random, path: Path) -> None:
    model_folder(path)
    files = [path / name for name in MODEL_FILES if (path / name).exists()]
    accidents = (change_json, change_json, change_json, odd_json, mutate, replace_by_fifo, remove)
    for _ in range(random.choice((1, 1, 3))):
        random.choice(accidents)(random, files.pop(random.randrange(len(files))))


def model_with_code(random: Random, path: Path) -> None:
    model_folder(path)
    (path / "evil.py").write_text(CODE)
    for name in ("config.json", "tokenizer_config.json"):
        whole = json.loads((path / name).read_bytes())
        kinds = ("AutoConfig", "AutoTokenizer", "AutoModelForCausalLM")
        whole["auto_map"] = {kind: f"evil.Evil{kind[4:]}" for kind in kinds}
        if random.random() < 0.5:
            whole["model_type"] = "evil"
        (path / name).write_text(json.dumps(whole))


def model_with_pickles(_: Random, path: Path) -> None:
    model_folder(path)
    for file in path.glob("*.safetensors"):
        file.unlink()
    (path / "pytorch_model.bin").write_bytes(torch_of({"x": Evil()}))


def model_with_a_template(random: Random, path: Path) -> None:
    """A chat template is a program, too."""
    model_folder(path)
    file = path / "tokenizer_config.json"
    whole = json.loads(file.read_bytes())
    whole["chat_template"] = random.choice(
        (
            "{{ ''.__class__.__mro__[1].__subclasses__() }}",
            "{{ cycler.__init__.__globals__.os.system('touch executed') }}",
            "{% for m in messages %}{{ m.content.__class__ }}{% endfor %}",
            "{{ raise_exception('\x1b[31m') }}",
            "{{ 'x' * 100000000000 }}",
            "{{ 1 / 0 }}",
            "{% for",
            "{{ messages[99].content }}",
            "{{ " + "(" * 3000,
            "",
            odd_value(random),
        )
    )
    file.write_text(json.dumps(whole))


def array_folder(random: Random, path: Path) -> None:
    path.mkdir()
    for number in range(3):
        (path / f"part-{number}.npy").write_bytes(npy_of(features(random)))


def odd_layout(random: Random, path: Path) -> None:
    array_folder(random, path)
    entry = {"name": "part-0.npy", "rows": 6, "bytes": 416, "checksums": [1]}
    layout = {"surefit_layout": 1, "steps": 4, "features": 3, "dtype": "float32"}
    file = path / "surefit-layout.json"
    file.write_text(json.dumps({**layout, "rows_in_block": 4, "shards": [entry]}))
    random.choice((change_json, change_json, change_json, odd_json, mutate, replace_by_fifo))(
        random, file
    )


def mixed_arrays(random: Random, path: Path) -> None:
    array_folder(random, path)
    (path / f"{EVIL}.npy").write_bytes(NPY[random.choice(tuple(NPY))](random))
    (path / "part-1.npy").unlink()
    os.mkfifo(path / "part-1.npy")
    (path / "evil.pkl").write_bytes(pickle.dumps(Evil()))


def run_folder(random: Random, path: Path) -> None:
    """Settings of a run that a user was sent, and files that are no weights."""
    path.mkdir()
    settings = {"recipe": "sft", "data": "embedded", "model": "embedded", "max_tokens": 64}
    file = path / "settings.json"
    file.write_text(json.dumps({**settings, "out": EVIL, "template": "plain", "rank": 8}))
    random.choice((change_json, change_json, odd_json, mutate, replace_by_fifo))(random, file)
    (path / "adapter").mkdir()
    adapter = {"peft_type": "LORA", "base_model_name_or_path": "embedded", "r": 8}
    (path / "adapter" / "adapter_config.json").write_text(json.dumps(adapter))
    weights = path / "adapter" / "adapter_model.safetensors"
    weights.write_bytes(SAFETENSORS[random.choice(tuple(SAFETENSORS))](random))
    if random.random() < 0.3:
        weights.with_suffix(".bin").write_bytes(torch_of({"x": Evil()}))
        weights.unlink()


RUNS: dict[str, Write] = {"odd settings": run_folder}
FOLDERS: dict[str, Write] = {
    "odd JSON": odd_datasets_folder,
    "odd table": odd_arrow_in_datasets_folder,
}
MODELS: dict[str, Write] = {
    "odd files": odd_model,
    "with code": model_with_code,
    "pickled weights": model_with_pickles,
    "odd template": model_with_a_template,
}
BESIDE = "beside.npy"


def model_beside_arrays(random: Random, path: Path) -> None:
    (path.parent / BESIDE).write_bytes(npy_of(features(random)))
    odd_model(random, path)
    for file in path.glob("*.safetensors"):
        file.write_bytes(SAFETENSORS[random.choice(tuple(SAFETENSORS))](random))


SIZES: dict[str, Write] = {"odd files": model_beside_arrays}
ARRAY_FOLDERS: dict[str, Write] = {"odd layout": odd_layout, "mixed": mixed_arrays}


def safetensors_of(random: Random) -> bytes:
    return save_safetensors({"x": features(random)})
