"""A run of the program and how it ends: every expected failure is one line on stderr and a status."""

import os
import sys
import warnings

from ..errors import CrftrainError, CrftrainWarning, SettingsError
from . import quick, streams


def main(*, alone=False):
    """Run a command; the status is 1 for data, model or numbers, 2 for usage, 130 for INT. alone: the process is there for nothing else."""
    with streams.opened(), warnings.catch_warnings():
        warnings.simplefilter("always", CrftrainWarning)
        warnings.simplefilter("ignore", RuntimeWarning)  # numpy's, of numbers out of range, which are an error or come right
        warnings.showwarning = _show_warning
        status, was_quick = _run()
    if alone and was_quick:
        os._exit(status)  # the system takes memory back faster than Python gives it
    sys.exit(status)


def _run():
    """(status, whether it was a quick run that came to its end)"""
    was_quick = False
    try:
        was_quick = quick.ran(sys.argv[1:])
        status = 0 if was_quick else _command()
        sys.stdout.flush()
    except BaseException as error:
        status = _status(error)
    try:
        sys.stdout.flush()
    except (OSError, streams.ClosedPipe) as error:
        status = status or (_fail(f"{error.filename}: {error.strerror}") if isinstance(error, OSError) else 0)
    return status, was_quick


def _command():
    from .group import commands

    return commands.main(standalone_mode=False) or 0


def _status(error):
    """What an exception says and the status it ends with; what nobody expected goes on."""
    import click

    match error:
        case click.exceptions.Exit():
            return error.exit_code
        case click.ClickException():
            error.show()
            return 2 if isinstance(error, click.UsageError) else 1
        case SettingsError():  # found when the labels were known
            click.UsageError(str(error)).show()
            return 2
        case CrftrainError():
            return _fail(error)
        case MemoryError():
            return _fail(f"out of memory: {error}" if str(error) else "out of memory")
        case KeyboardInterrupt() | click.Abort():
            return 130
        case streams.ClosedPipe():
            return 0
        case OSError():
            return _fail(f"{error.filename}: {error.strerror}" if error.filename else error)
        case RuntimeError() if "start new thread" in str(error):
            return _fail("threads cannot be started: the system allows no more of them, or no memory for them (-j takes fewer)")
    raise error


def _fail(error):
    print(f"crftrain: error: {error}", file=sys.stderr)
    return 1


def _show_warning(message, category, filename, lineno, file=None, line=None):
    if issubclass(category, CrftrainWarning):
        print(f"crftrain: warning: {message}", file=sys.stderr)
    else:
        print(warnings.formatwarning(message, category, filename, lineno, line).rstrip(), file=sys.stderr)
