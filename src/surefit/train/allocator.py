"""Memory of freed tensors, given back to the system at once."""

import ctypes
import platform

M_MMAP_THRESHOLD = -3
M_TRIM_THRESHOLD = -1
THRESHOLD = 256 * 1024


def give_back_freed_memory() -> bool:
    """Tells glibc to map every tensor of 256 KB or more on its own; True if there is glibc to tell.

    Left alone, it raises that limit to 32 MB in the first pass and from then on keeps freed
    activations in a heap full of holes. Mapping them anew costs up to a quarter more CPU time, so
    that it pays where memory is short. Nothing puts the limit back: it holds for the process.
    """
    if platform.libc_ver()[0] != "glibc":
        return False
    mallopt = ctypes.CDLL(None).mallopt
    return bool(mallopt(M_MMAP_THRESHOLD, THRESHOLD)) and bool(
        mallopt(M_TRIM_THRESHOLD, 2 * THRESHOLD)
    )
