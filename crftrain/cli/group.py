"""The command line: which commands there are, and how a run ends. A command's module is loaded when the command is asked for."""

import sys
import warnings
from collections.abc import Mapping
from importlib import import_module

import click

from .. import __version__
from ..errors import CrftrainError, CrftrainWarning, SettingsError
from . import migrants, streams
from .base import Command

CONTEXT = {"help_option_names": ["-h", "--help"], "max_content_width": 110}
HOMES = {  # command: its module and, where it has another name there, that
    "algorithms": "showing",
    "as": "peers:as_program",
    "check": "check",
    "compare": "main",
    "completion": "showing",
    "convert": "data",
    "dump": "showing",
    "eval": "tagging:evaluate",
    "explain": "explain",
    "export": "exchange",
    "features": "showing",
    "info": "showing",
    "learn": "main",
    "report": "report",
    "tag": "tagging",
    "update": "main",
}


class Loaded(Mapping):
    """The commands by name."""

    def __getitem__(self, name):
        module, _, other = HOMES[name].partition(":")
        return getattr(import_module(f".{module}", __package__), other or name)

    def __iter__(self):
        return iter(HOMES)

    def __len__(self):
        return len(HOMES)


def main():
    """Run a command; every expected failure is one line on stderr and a status: 1 data, model or numbers, 2 usage, 130 INT."""
    with streams.opened(), warnings.catch_warnings():
        warnings.simplefilter("always", CrftrainWarning)
        warnings.simplefilter("ignore", RuntimeWarning)  # numpy's, of numbers out of range, which are an error or come right
        warnings.showwarning = _show_warning
        status = _run()
    sys.exit(status)


def _run():
    try:
        status = commands.main(standalone_mode=False) or 0
        sys.stdout.flush()
    except click.exceptions.Exit as exit_:
        status = exit_.exit_code
    except click.UsageError as error:
        error.show()
        status = 2
    except click.ClickException as error:
        error.show()
        status = 1
    except SettingsError as error:  # found when the labels were known
        click.UsageError(str(error)).show()
        status = 2
    except CrftrainError as error:
        status = _fail(error)
    except MemoryError as error:
        status = _fail(f"out of memory: {error}" if str(error) else "out of memory")
    except (KeyboardInterrupt, click.Abort):
        status = 130
    except streams.ClosedPipe:
        status = 0
    except OSError as error:
        status = _fail(f"{error.filename}: {error.strerror}" if error.filename else error)
    except RuntimeError as error:
        if "start new thread" not in str(error):
            raise
        status = _fail("threads cannot be started: the system allows no more of them, or no memory for them (-j takes fewer)")
    try:
        sys.stdout.flush()
    except (OSError, streams.ClosedPipe) as error:
        status = status or (_fail(f"{error.filename}: {error.strerror}") if isinstance(error, OSError) else 0)
    return status


def _fail(error):
    click.echo(f"crftrain: error: {error}", err=True)
    return 1


def _show_warning(message, category, filename, lineno, file=None, line=None):
    if issubclass(category, CrftrainWarning):
        click.echo(f"crftrain: warning: {message}", err=True)
    else:
        click.echo(warnings.formatwarning(message, category, filename, lineno, line).rstrip(), err=True)


class Commands(click.Group):
    command_class = Command

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.commands = Loaded()  # type: ignore[assignment]  # nobody adds one

    def resolve_command(self, ctx, args):
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            told = migrants.COMMANDS.get(args[0])
            raise (click.UsageError(f"{error.format_message()} {told}.", ctx) if told else error) from None


@click.group(cls=Commands, context_settings=CONTEXT)
@click.version_option(__version__, "-V", "--version", prog_name="crftrain")
def commands():
    """Train linear-chain conditional random fields, and tag with them.

    \b
      crftrain learn --lambda 1/n train.txt
      crftrain tag model.bin test.txt | crftrain eval

    Options come from the command line, else from CRFTRAIN_NAME in the environment (CRFTRAIN_THREADS=2), else from --config FILE.
    Exit status: 0 done, 1 bad data, model or numbers, 2 wrong usage, 130 and 143 after INT and TERM.
    """
