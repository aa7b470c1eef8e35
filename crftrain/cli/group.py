"""The command line: which commands there are. A command's module is loaded when the command is asked for."""

from collections.abc import Mapping
from importlib import import_module

import click

from .. import __version__
from . import migrants
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
