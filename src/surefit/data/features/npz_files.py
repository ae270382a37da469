"""Headers of `.npz` files: stored members lie in the file as they are, others are compressed."""

from pathlib import Path
from typing import IO
from zipfile import ZIP_STORED, ZipFile, ZipInfo

from surefit.doctor.findings import Finding
from surefit.errors import BadInput

from .faults import choose, wrong_size
from .headers import Header, state_of
from .npy_files import NpyHeader, read_npy_header

COMPRESSED = "it is compressed as one piece (`np.savez` stores members as they are)"
LOCAL_HEADER = 30
"""Bytes in front of a member's name, by the format."""


def npz_headers(path: Path, name: str) -> tuple[Header, ...]:
    with path.open("rb") as file:
        state = state_of(file.fileno())
        with ZipFile(file) as archive:
            infos = {one.filename: one for one in archive.infolist()}
            members = {key: _member(archive, key, name) for key in infos if _is_array(key)}
        inside = choose(name, "member", {key: one.shape for key, one in members.items()})
        if isinstance(inside, Finding):
            raise BadInput(inside)
        found, info = members[inside], infos[inside]
        if info.file_size != found.in_all:
            size = (info.file_size, found.in_all)
            raise BadInput(wrong_size(name, *size, found.shape, found.length, 0))
        stored = info.compress_type == ZIP_STORED
        offset = member_begin(file, info) + found.length if stored else None
    return (
        Header(
            path,
            name,
            found.shape,
            found.dtype,
            state.size,
            state.changed_ns,
            offset,
            fortran=found.fortran,
            inside=inside,
            whole="" if stored else COMPRESSED,
        ),
    )


def _is_array(member: str) -> bool:
    return member.endswith(".npy")


def _member(archive: ZipFile, member: str, name: str) -> NpyHeader:
    with archive.open(member) as opened:
        return read_npy_header(opened, name)


def member_begin(file: IO[bytes], info: ZipInfo) -> int:
    """Where a member's bytes begin: its local header has lengths of its own."""
    file.seek(info.header_offset + LOCAL_HEADER - 4)
    lengths = file.read(4)
    name, extra = int.from_bytes(lengths[:2], "little"), int.from_bytes(lengths[2:], "little")
    return info.header_offset + LOCAL_HEADER + name + extra
