"""Files that are whole or absent: written beside their place under another name, and renamed when all is on disk.

What stands at a place is the old file or the new one at any moment. Symbolic links stay and lead to the new file; a pipe, a device or
standard output is written to directly, since there is nothing to replace. The name beside the place begins with prefix(place),
and its writer holds a lock on it: what a killed run left behind has none, and the next run that writes there removes it.
"""

import contextlib
import os
import stat
import sys
import zlib

from .errors import CrftrainError

try:
    import fcntl
except ImportError:  # Windows keeps what a killed run leaves
    fcntl = None


@contextlib.contextmanager
def os_errors(path, what, error_type=CrftrainError):
    """An OSError becomes an error about the path."""
    try:
        yield
    except OSError as error:
        raise error_type(path, f"{what}: {error.strerror or error}") from None


@contextlib.contextmanager
def writing(path, *, regular=False):
    """A binary file whose content stands at path when the block has ended well; else path is as it was.

    regular: an OSError where the path leads to what is no file and cannot be replaced.
    """
    place = _destination(path)
    if place is not None:
        with _beside(place) as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
            file.close()
            os.replace(file.name, place)
    elif regular:
        raise OSError("Not a regular file")
    elif path == "-":
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
    else:
        with open(path, "wb") as file:
            yield file


def replace(path, parts):
    """Write the parts to path, whole or not at all."""
    with writing(path) as file:
        file.writelines(parts)


def try_replace(path, *, regular=False):
    """OSError if `writing` would fail; what runs that were killed have left of the same file is removed."""
    place = _destination(path)
    if place is not None:
        _sweep(place)
        with _beside(place):
            pass
    elif regular:
        raise OSError("Not a regular file")
    elif path != "-" and not os.access(path, os.W_OK):
        raise PermissionError("Permission denied")


def prefix(place):
    """How the names of unfinished files of a place begin."""
    return f".crftrain-{zlib.crc32(os.path.basename(os.fsencode(place))):08x}-"


def _destination(path):
    """The file to replace, symbolic links followed; None for what is no file (-, /dev/null, a pipe) and is written to directly."""
    if path == "-":
        return None
    if os.path.basename(path) in ("", ".", ".."):
        raise IsADirectoryError("Is a directory")
    try:
        mode = os.stat(path).st_mode
    except FileNotFoundError:
        return os.path.realpath(path)
    except ValueError as error:  # a zero byte
        raise OSError(str(error)) from None
    if stat.S_ISDIR(mode):
        raise IsADirectoryError("Is a directory")
    if stat.S_ISREG(mode) and not os.access(path, os.W_OK):
        raise PermissionError("Permission denied")
    place = os.path.realpath(path)
    return place if stat.S_ISREG(mode) and os.path.exists(place) else None


@contextlib.contextmanager
def _beside(place):
    """A new file beside place, with a new file's permissions; gone at the end unless it was renamed."""
    file = None
    try:
        while file is None:
            name = os.path.join(os.path.dirname(place), f"{prefix(place)}{os.urandom(8).hex()}.tmp")
            file = open(name, "xb")  # noqa: SIM115
            if not _lock(file) or not os.fstat(file.fileno()).st_nlink:  # a sweep came between
                file = file.close()
        with file:
            yield file
    finally:
        with contextlib.suppress(OSError):  # it was renamed, or what went wrong before is what to tell
            os.unlink(name)


def _lock(file):
    """Whether the file is ours, as far as the file system can tell."""
    if fcntl is None:
        return True
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # no locks here
        return True
    return True


def _sweep(place):
    """Remove the unfinished files of a place whose writers are gone."""
    if fcntl is None:
        return
    folder, begin = os.path.dirname(place), prefix(place)
    with contextlib.suppress(OSError):
        for name in os.listdir(folder):
            if name.startswith(begin) and name.endswith(".tmp"):
                with contextlib.suppress(OSError), open(os.path.join(folder, name), "rb") as file:
                    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    os.unlink(file.name)
