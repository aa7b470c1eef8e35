"""`crftrain report`: a page about a model."""

import io
import json
import shlex
import sys

import click

from .base import Command, spare
from .data import data_options, schemed_form_of


@click.command(cls=Command)
@click.argument("model")
@click.argument("test")
@click.option("-o", "--out", default="report.html", show_default=True, metavar="FILE", help="Where the page is written.")
@click.option("--dev", metavar="FILE", help="Held-out data, whose scores stand beside those of TEST.")
@click.option("--against", metavar="MODEL2", help="A second model: what it mends, what it breaks, and whether that is luck.")
@click.option("--log", metavar="FILE", help="What `learn --log` wrote: the learning curve.")
@click.option(
    "--gold", type=click.Choice(["yes", "no", "auto"]), default="auto", show_default=True, help="Whether items begin with a gold label."
)
@click.option("--encoding", default="utf-8", show_default=True, help="Encoding of the text.")
@data_options
@click.pass_context
def report(ctx, model, test, out, format, fields, comments, tabs, **how):
    """Write a page about MODEL on the labelled file TEST: scores, errors, confusion, calibration, sentences with explanations.

    \b
      crftrain report -o report.html model.bin test.txt
      crftrain report --against new.bin --log run.jsonl model.bin test.txt

    The page is one file that needs neither a network nor a server.
    """
    from ..model.model import load
    from ..report.html import save
    from ..report.model_report import report as make

    spare(ctx, [out], [model, test, how["dev"], how["against"], how["log"]])
    form = schemed_form_of(ctx, [test], load(model).vocabulary, format=format, fields=fields, comments=comments, tabs=tabs)
    click.echo(f"{out}: {save(out, make(model, test, form=form, **how)):,} bytes", err=True)


def reporting(run):
    """A training that writes the page that its settings ask for when the model is written."""
    from ..report.html import save
    from ..report.run_page import run_page
    from ..training.events import Log, Observers
    from ..whole import os_errors, try_replace

    def run_and_report(settings, observer):
        with os_errors(settings.report, "cannot be written"):
            try_replace(settings.report)  # now, and not after hours
        with io.StringIO() as lines:
            outcome = run(settings, Observers(Log(lines), observer))
            events = [json.loads(line) for line in lines.getvalue().splitlines()]
        command = shlex.join(["crftrain", *sys.argv[1:]])
        observer.say(f"{settings.report}: {save(settings.report, run_page(settings, events, command)):,} bytes")
        return outcome

    return run_and_report
