"""Commands for what comes from other programs and goes to them: export."""

import click

from ..errors import ModelError
from ..model.foreign import FORMATS
from .base import Command, spare


@click.command(cls=Command)
@click.argument("model")
@click.argument("out")
@click.option("--to", "format", required=True, type=click.Choice([*FORMATS, "crftrain"]), help="Whose model file to write.")
@click.pass_context
def export(ctx, model, out, format):
    """Write MODEL as another program's model file, OUT.

    \b
      crftrain export model.bin model.crfsuite --to crfsuite
      crftrain export old.crfsuite model.bin --to crftrain

    MODEL may be one of theirs too. What the other program has no way to say is refused, with a list.
    """
    from ..model import foreign
    from ..model.model import load

    spare(ctx, [out], [model])
    loaded = load(model)
    try:
        size = foreign.export(loaded, out, format)
    except ModelError as error:
        raise ModelError(error.place or model, error.finding, error.expectation) from None
    for remark in foreign.remarks(format, loaded) if format in foreign.FORMATS else ():
        click.echo(f"{out}: {remark}", err=True)
    if format != "crftrain" and loaded.temperature != 1:
        click.echo(f"{out}: without the temperature {loaded.temperature:.4g}, which only crftrain's own files have", err=True)
    click.echo(f"{out}: {size:,} bytes", err=True)
