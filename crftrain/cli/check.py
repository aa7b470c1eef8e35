"""`crftrain check`: what is wrong with the data, before anything is learnt from them."""

import json

import click

from ..report.check.findings import SHOWN
from .base import Command, column_option, inputs
from .data import completed, data_options


@click.command(cls=Command)
@click.argument("train", nargs=-1, required=True)
@click.option("--dev", metavar="FILE", help="Held-out data.")
@click.option("--test", metavar="FILE", help="Test data.")
@click.option("--noise", metavar="FILE", help="What learn --folds-out wrote of TRAIN: gold labels that models of other sentences doubt.")
@click.option("-t", "--template", metavar="NAME|FILE", help="Feature template, for the share of unknown attributes.")
@column_option("--label-column", -1, "Column of the labels, from 0, or from the end if negative.")
@click.option("--encoding", default="utf-8", show_default=True, help="Encoding of the text.")
@click.option("--examples", type=click.IntRange(min=1), default=SHOWN, show_default=True, metavar="N", help="Examples of each finding.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@data_options
@click.pass_context
def check(ctx, train, dev, test, noise, template, examples, as_json, format, label_column, encoding, **data):
    """Look for faults in TRAIN files, and between them and held-out and test data. Status 1 if there are errors.

    \b
      crftrain check --dev dev.txt --test test.txt train.txt
    """
    from ..report import check as checking
    from ..text import template as templates

    if template and format == "items":
        raise click.UsageError("--format items has its attributes already: -t does not apply", ctx)
    template = templates.load(template) if template else None
    data = checking.Data(
        list(train),
        [path for path in (dev, test) if path],
        format="items" if format == "items" else "conll",
        form=_form(ctx, inputs(train)[0], format, **data),
        label_column=label_column,
        encoding=encoding,
        template=template,
        most=examples,
    )
    findings = checking.check(data, noise=noise)
    if as_json:
        click.echo(json.dumps(checking.as_json(data, findings), ensure_ascii=False))
    else:
        click.echo("\n".join(checking.lines(data, findings)))
    if any(finding.severity == "error" for finding in findings):
        ctx.exit(1)


def _form(ctx, path, format, fields, comments, tabs):
    """What the files are read as, by the first lines of the first one if nothing else is said."""
    from ..text.forms import Form, detected

    if format == "items":
        if fields or comments or tabs:
            raise click.UsageError("--format items goes with no other option of data", ctx)
        return None
    if format == "auto" and (seen := detected(path)):
        click.echo(f"{path}: read as --format {seen}", err=True)
        format = seen
    return completed(ctx, None if format in ("auto", "conll") else Form(format), fields, comments, tabs)
