"""Runs a script again in a copy of its folder: offline, within limits, and writing nowhere else."""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from os import environ, pathsep
from pathlib import Path
from typing import Protocol

from surefit.doctor.observations import Trace
from surefit.doctor.recording import Recording, as_line, read
from surefit.observe.forks import ForkLost
from surefit.observe.held_folders import held_folder
from surefit.observe.inside.traces import outside, walls
from surefit.observe.script import Launch, Watched
from surefit.proof.mirror import Mirror, copied
from surefit.proof.snapshot import CannotTry, Snapshot
from surefit.proof.snapshot import snapshot as snapshot

OFFLINE = {
    "HF_HUB_OFFLINE": "1",
    "TRANSFORMERS_OFFLINE": "1",
    "HF_DATASETS_OFFLINE": "1",
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "DO_NOT_TRACK": "1",
}
TRACKERS_OFF = {
    "WANDB_MODE": "disabled",
    "COMET_MODE": "disabled",
    "NEPTUNE_MODE": "debug",
    "SWANLAB_MODE": "disabled",
    "CLEARML_OFFLINE_MODE": "1",
    "GRADIO_ANALYTICS_ENABLED": "False",
}
"""Off by saying so, never by hiding the library: a Trainer that was told to report to one that it
cannot find stops with an error. Trackers of files are given a folder in the copy."""
IN_EVERY_COPY = {**OFFLINE, **TRACKERS_OFF}
TRACKED_IN_FILES = {"MLFLOW_TRACKING_URI": "file://{}", "TRACKIO_DIR": "{}"}

SAID = {
    "wrote": "it writes to {}, outside of its folder",
    "connected": "it talks to {} over the network",
    "started": "it starts `{}`, which cannot be watched",
    "unprotected": "this system offers neither user namespaces nor Landlock to keep the copy's run"
    " from your files{}; with `--trust-trial` it is tried all the same",
}


class Watch(Protocol):
    """`observe.script.watch`, as far as a sandbox needs it."""

    def __call__(
        self,
        launch: Launch,
        *,
        environment: Mapping[str, str],
        quiet: bool,
        seconds: float,
        bytes_: int | None,
    ) -> Watched: ...


def attempt(
    launch: Launch,
    before: Snapshot | None,
    texts: Mapping[str, bytes],
    *,
    environment: Mapping[str, str],
    seconds: float,
    bytes_: int | None,
    watch: Watch,
) -> Watched:
    """One run in a copy; `texts` are files of it that are to be other than they were.

    Files are named in the result as in the first run. The copy is removed whatever happens.
    Raises `CannotTry` with the reason where it could not be made, or reached outside of itself.
    """
    once = partial(
        attempt_once,
        launch,
        before,
        texts,
        environment=environment,
        seconds=seconds,
        bytes_=bytes_,
        watch=watch,
    )
    try:
        return once()
    except ForkLost:
        return once()  # in a new copy: the lost run may have written to its own


def attempt_once(
    launch: Launch,
    before: Snapshot | None,
    texts: Mapping[str, bytes],
    *,
    environment: Mapping[str, str],
    seconds: float,
    bytes_: int | None,
    watch: Watch,
) -> Watched:
    with held_folder("proof-") as root:
        mirror = prepared(launch, before, texts, root)
        watched = watch(
            inside(launch, mirror),
            environment={**surroundings(mirror), **environment},
            quiet=True,
            seconds=seconds,
            bytes_=bytes_,
        )
    later = watched.later and named_as_first(watched.later, mirror, launch)
    result = replace(
        watched, recording=named_as_first(watched.recording, mirror, launch), later=later
    )
    refuse_outside(result.recording)
    return result


def prepared(
    launch: Launch, before: Snapshot | None, texts: Mapping[str, bytes], root: Path
) -> Mirror:
    try:
        mirror = copied(launch, before, root)
        for name, content in texts.items():
            mirror.of((launch.cwd.resolve() / name).resolve()).write_bytes(content)
    except OSError as error:
        name = error.filename or "the folder"
        raise CannotTry(f"{name} could not be copied: {error.strerror or error}") from error
    return mirror


def inside(launch: Launch, mirror: Mirror) -> Launch:
    command = tuple(mirror.translated(word) for word in launch.command)
    script = mirror.translated(launch.script) if launch.script else None
    return replace(launch, command=command, cwd=mirror.of(launch.cwd.resolve()), script=script)


def surroundings(mirror: Mirror) -> dict[str, str]:
    """Environment of the copy: the user's own, with paths led to it; caches are as they are."""
    translated = {
        name: mirror.translated(value)
        for name, value in environ.items()
        if name not in (*outside.CACHES, *outside.TEMPORARY, "PATH", "PWD", "VIRTUAL_ENV")
    }
    tracked = mirror.root / "tracked"
    return {
        **{name: value for name, value in translated.items() if value != environ[name]},
        **IN_EVERY_COPY,
        **{name: value.format(tracked) for name, value in TRACKED_IN_FILES.items()},
        **({walls.TRUSTED: "1"} if environ.get(walls.TRUSTED) else {}),
        outside.SANDBOX: str(mirror.root),
        outside.SANDBOX_OF: pathsep.join(map(str, mirror.folders)),
    }


def named_as_first(seen: Recording, mirror: Mirror, launch: Launch) -> Recording:
    """The copy's own path is taken out of every name and message."""
    lines = [as_line(one).replace(str(mirror.root), "") for one in seen.observations]
    return read(lines, launch.cwd.resolve())


def refuse_outside(seen: Recording) -> None:
    """What a run wrote, talked to or started outside itself; a sandbox ended it before it did."""
    for trace in seen.all(Trace):
        raise CannotTry(SAID[trace.what].format(trace.where))


__all__ = ["IN_EVERY_COPY", "CannotTry", "Snapshot", "attempt", "refuse_outside", "snapshot"]
