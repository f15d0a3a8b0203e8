"""Give memory that heavy libraries have freed back to the system; does nothing without glibc."""

import contextlib
import ctypes
import gc

# Source: malloc.h of glibc; mallopt(3).
_M_ARENA_MAX = -8
_ARENAS = 2


def hold_down() -> None:
    """Make all threads share two arenas: an arena per thread of LanceDB would never shrink."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).mallopt(_M_ARENA_MAX, _ARENAS)


def give_back() -> None:
    """Collect garbage, and return unused memory to the system."""
    gc.collect()
    trim()


def trim() -> None:
    """Return unused memory to the system; glibc keeps it unless told."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)
