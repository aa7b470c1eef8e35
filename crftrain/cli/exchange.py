"""Commands for what comes from other programs and goes to them: export."""

import os

import click

from ..errors import ModelError
from .base import Command

PROGRAMS = ("crfsuite", "wapiti", "crfpp")


@click.command(cls=Command)
@click.argument("model")
@click.argument("out")
@click.option("--to", "format", required=True, type=click.Choice([*PROGRAMS, "crftrain"]), help="Whose model file to write.")
def export(model, out, format):
    """Write MODEL as another program's model file, OUT.

    \b
      crftrain export model.bin model.crfsuite --to crfsuite
      crftrain export old.crfsuite model.bin --to crftrain

    MODEL may be one of theirs too. What the other program has no way to say is refused, with a list.
    """
    from ..model import foreign
    from ..model._container import os_errors, replace
    from ..model.model import load, save

    loaded = load(model)
    if model != "-" and os.path.exists(out) and os.path.samefile(model, out):
        raise click.UsageError(f"OUT is MODEL, {model}")
    if format == "crftrain":
        size = save(out, loaded.vocabulary, loaded.layout, loaded.w, loaded.facts)
    else:
        try:
            parts = foreign.image(format, loaded)
        except ModelError as error:
            raise ModelError(model, error.finding, error.expectation) from None
        with os_errors(out, "cannot be written"):
            replace(out, parts)
        size = sum(map(len, parts))
        for remark in foreign.remarks(format, loaded):
            click.echo(f"{out}: {remark}", err=True)
    click.echo(f"{out}: {size:,} bytes", err=True)
