"""Which files, addresses and programs lie outside a run: its folder, temporary files and library
caches are inside, and so are loopback and Unix sockets."""

import os
import shlex
import stat
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

from surefit.observe.inside import spool
from surefit.observe.inside.untouched import abspath, realpath

SANDBOX = "SUREFIT_SANDBOX"
"""Environment: the root of a copy of the user's folders; what is outside of it ends the attempt."""
SANDBOX_OF = "SUREFIT_SANDBOX_OF"
"""Environment: the folders that it is a copy of; temporary or not, these are outside."""
INSIDE = "SUREFIT_INSIDE"
"""Environment: the folders of the run, as the first process of it found them."""
WALLS = "SUREFIT_WALLS"
"""Environment: what of the kernel keeps a sandbox closed."""
NO_NAMESPACES = "SUREFIT_NO_NAMESPACES_BECAUSE"
"""Environment: why that is not a namespace."""

TEMPORARY = ("TMPDIR", "TEMP", "TMP")
CACHES = (
    "XDG_CACHE_HOME",
    "HF_HOME",
    "HF_HUB_CACHE",
    "HUGGINGFACE_HUB_CACHE",
    "TRANSFORMERS_CACHE",
    "HF_DATASETS_CACHE",
    "HF_MODULES_CACHE",
    "HF_XET_CACHE",
    "TORCH_HOME",
    "TORCH_EXTENSIONS_DIR",
    "TORCHINDUCTOR_CACHE_DIR",
    "TRITON_HOME",
    "TRITON_CACHE_DIR",
    "CUDA_CACHE_PATH",
    "MPLCONFIGDIR",
    "NUMBA_CACHE_DIR",
    "PYTHONPYCACHEPREFIX",
)
CACHES_AT_HOME = (".cache", ".triton", ".nv", os.path.join(".config", "matplotlib"))
SYSTEM = ("/dev", "/proc", "/sys")
LONGEST = 200
"""Characters of a command that are told."""

ONLY_LOOK = frozenset(
    (
        "arch",
        "as",
        "c++",
        "cc",
        "clang",
        "clang++",
        "df",
        "fc-list",
        "free",
        "g++",
        "gcc",
        "hostname",
        "id",
        "ld",
        "ldconfig",
        "lsb_release",
        "lscpu",
        "lspci",
        "ninja",
        "nproc",
        "nvcc",
        "nvidia-smi",
        "ps",
        "ptxas",
        "rocm-smi",
        "rocminfo",
        "sysctl",
        "uname",
        "which",
        "whoami",
    )
)
"""Programs that libraries start to learn about the machine, or to compile into their caches."""
SHELL_SIGNS = frozenset("|&;<>()$`\n*?~")


def own_folders() -> list[str]:
    """The working directory and the folder of the main script, as the run's first process sees
    them; later ones are told by the environment. In a sandbox: the copy alone."""
    sandbox = os.environ.get(SANDBOX)
    if sandbox:
        return [realpath(sandbox)]
    if INSIDE not in os.environ:
        os.environ[INSIDE] = os.pathsep.join([os.getcwd(), *_script_folder()])
    return [realpath(folder) for folder in os.environ[INSIDE].split(os.pathsep)]


def _script_folder() -> Iterator[str]:
    for word in sys.orig_argv[1:]:
        if word in ("-c", "-m"):
            return
        if not word.startswith("-") and os.path.isfile(word):
            yield os.path.dirname(abspath(word))
            return


def free_to_write() -> list[str]:
    """Caches and temporary folders as the environment names them now: scripts set these."""
    return [*caches(), *temporary()]


def caches() -> list[str]:
    """Without namespaces, those of libraries are read-only in a sandbox."""
    folder = spool.folder()
    libraries = [] if os.environ.get(WALLS) == "landlock" else library_caches()
    return [*libraries, *SYSTEM, *([str(folder)] if folder else [])]


def library_caches() -> list[str]:
    named = [os.environ[name] for name in CACHES if os.environ.get(name)]
    home = os.path.expanduser("~")
    return [*named, *(os.path.join(home, name) for name in CACHES_AT_HOME)]


def temporary() -> list[str]:
    named = [os.environ[name] for name in TEMPORARY if os.environ.get(name)]
    return named or ["/tmp", "/var/tmp"]


def is_within(path: str, folders: Sequence[str]) -> bool:
    return any(path == folder or path.startswith(folder.rstrip("/") + "/") for folder in folders)


def written_outside(path: Any, own: Sequence[str], at: int = -1, link: bool = False) -> str | None:
    """The real path, if it lies outside; `at` is the descriptor of the folder that it is seen from,
    `link`: a link itself is meant and not what it leads to."""
    if isinstance(path, int):
        return None
    name = os.fsdecode(path)
    if at >= 0 and not os.path.isabs(name):
        name = os.path.join(os.readlink(f"/proc/self/fd/{at}"), name)
    if link:
        head, tail = os.path.split(abspath(name))
        real = os.path.join(realpath(head), tail)
    else:
        real = realpath(name)
    if is_within(real, own) or "/__pycache__" in real:
        return None
    copied_from = [folder for folder in os.environ.get(SANDBOX_OF, "").split(os.pathsep) if folder]
    free = caches() if is_within(real, copied_from) else free_to_write()
    return None if is_within(real, [realpath(folder) for folder in free]) else real


def is_foreign(host: str) -> bool:
    """Not this machine talking to itself."""
    host = host.removeprefix("::ffff:")
    return not (host.startswith("127.") or host in ("", "localhost", "::1", "0.0.0.0", "::"))


def is_listened_to(port: int) -> bool:
    """By a process of this run, in a sandbox with a network of its own."""
    listening = "0A"
    for name in ("tcp", "tcp6", "udp", "udp6"):
        with suppress(OSError), open(f"/proc/self/net/{name}") as lines:
            for words in (line.split() for line in list(lines)[1:]):
                at, state = int(words[1].rpartition(":")[2], 16), words[3]
                if at == port and (state == listening or name.startswith("udp")):
                    return True
    return False


def socket_outside(path: str, own: Sequence[str]) -> str | None:
    """The path, if a service outside of a sandbox listens to it."""
    layer = os.environ.get(WALLS)
    if not layer or path.startswith("\0") or not os.path.exists(path):
        return None
    if layer == "namespaces":  # hides those by another file of that name
        return None if stat.S_ISSOCK(os.stat(path).st_mode) else path
    return None if is_within(realpath(path), [*own, *temporary()]) else path


def program_outside(
    program: Any, words: Sequence[Any] | None, environment: Mapping[Any, Any] | None
) -> str | None:
    """The command, if it starts a program that cannot be watched and does more than look."""
    command = [os.fsdecode(word) for word in words or [program]]
    if os.path.basename(command[0]) in ("sh", "bash", "dash") and command[1:2] == ["-c"]:
        return shell_outside(command[2])
    if environment is not None and not _is_passed_on(environment):
        return shlex.join(command)
    path = os.fsdecode(program) if program else command[0]
    name = os.path.basename(path)
    if name in ONLY_LOOK or (_is_python(path) and not _is_isolated(command)):
        return None
    return shlex.join(command)


def shell_outside(command: Any) -> str | None:
    line = os.fsdecode(command)
    try:
        words = shlex.split(line)
    except ValueError:
        return line
    if not words or SHELL_SIGNS & set(line):
        return line
    return line if program_outside(words[0], words, None) else None


def why_unobserved(args: Any, environment: Mapping[Any, Any] | None) -> str | None:
    """For a Python that was started so that nothing of it is seen."""
    words = args if isinstance(args, list | tuple) else [args]
    command = [os.fsdecode(word) for word in words]
    if not command or not _is_python(command[0]):
        return None
    if _is_isolated(command):
        return f"`{shlex.join(command)[:LONGEST]}` does not read PYTHONPATH"
    if environment is not None and not _is_passed_on(environment):
        return f"`{shlex.join(command)[:LONGEST]}` was given an environment of its own"
    return None


def _is_passed_on(environment: Mapping[Any, Any]) -> bool:
    return spool.FOLDER in environment or os.fsencode(spool.FOLDER) in environment


def _is_python(path: str) -> bool:
    if os.path.basename(path).startswith("python") or path == sys.executable:
        return True
    found = path if os.path.dirname(path) else _found(path)
    try:
        with open(found, "rb") as opened:
            return b"python" in opened.readline(256) if opened.read(2) == b"#!" else False
    except OSError:
        return False


def _found(name: str) -> str:
    folders = os.environ.get("PATH", os.defpath).split(os.pathsep)
    paths = (os.path.join(folder, name) for folder in folders)
    return next((path for path in paths if os.access(path, os.X_OK)), name)


def _is_isolated(command: Sequence[str]) -> bool:
    """`-I`, `-E` and `-S` keep Python from what surefit starts with."""
    for word in command[1:]:
        if not word.startswith("-") or word in ("-c", "-m"):
            return False
        if not word.startswith("--") and set(word) & set("IES"):
            return True
    return False
