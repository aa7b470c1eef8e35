"""What commands share: how their options are found, explained and completed; input and output."""

import os
import sys

import click

from ..training.overwriting import OUTPUTS, identity
from . import completion, migrants, presets

WRITTEN = (*OUTPUTS, "out", "picture")  # options that name what is written


class Command(click.Command):
    """A command whose options may come from a file or the environment, and which knows what options are called elsewhere."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.params.append(presets.CONFIG)
        for param in self.params:
            completion.attach(param)

    def parse_args(self, ctx, args):
        config = presets.typed(args, "--config")
        try:
            rest = super().parse_args(ctx, args if ctx.resilient_parsing else self.preset(ctx, args))
        except click.NoSuchOption as error:
            raise click.UsageError(" ".join([error.format_message(), *self.explain(error.option_name)]), ctx) from None
        spare(ctx, [ctx.params.get(name) for name in WRITTEN], [config])
        return rest

    def preset(self, ctx, args):
        """args with the options of files and the environment before them."""
        known = {presets.long_name(param) for param in self.params} - {None}
        return presets.arguments(ctx, presets.read(ctx, args, known), self.params, args) + args

    def explain(self, flag):
        """Sentences on an option that this command has not."""
        told = migrants.hint(self.name, flag)
        return [told] if told else []

    def refuse_values(self, ctx, paths):
        """Wrong usage where a file is named that is not there, and is an option's value as CRFsuite's -p takes them."""
        for path in paths:
            name, equals, _ = path.partition("=")
            if equals and name.replace("_", "").replace(".", "").isalnum() and not os.path.exists(path):
                told = self.explain("--" + name.replace("_", "-").replace(".", "-"))
                raise click.UsageError(" ".join([f"{path}: there is no such file; options begin with a hyphen.", *told]), ctx)


def spare(ctx, outputs, inputs):
    """Wrong usage, before anything is opened, where one file would be written over another that is read; None and - are no files."""
    read = {identity(path): path for path in inputs if path not in (None, "-")}
    for path in outputs:
        if path not in (None, "-") and (found := identity(path)) is not None and found in read:
            raise click.UsageError(f"{path} would overwrite {read[found]}, which is read", ctx)


def column_option(name, default, help):
    return click.option(name, type=int, default=default, show_default=True, help=help)


def inputs(files):
    """The files, or standard input if there are none; whoever would have to type it is told."""
    files = files or ("-",)
    if "-" in files and sys.stdin is not None and sys.stdin.isatty():
        click.echo("reading from the terminal; Ctrl-D ends the input", err=True)
    return files


def write_lines(lines):
    for line in lines:
        sys.stdout.write((line.decode() if isinstance(line, bytes) else line) + "\n")
