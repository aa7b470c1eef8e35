"""What commands share that read and write data of other forms than plain columns, and `convert`."""

import sys
from dataclasses import replace

import click

from ..text.forms import CHOICES, FORMATS, Form, detected, in_scheme
from ..text.schemes import SCHEMES
from .base import Command, inputs

TARGETS = ("columns", "conllu", "jsonl", "pipes", "inline")


def data_options(command):
    """--format, --fields, --comments and --tabs."""
    options = (
        click.option("--format", type=click.Choice(CHOICES), default="auto", help="What FILES are; auto: what the model was learnt from."),
        click.option("--fields", metavar="A,B,..", help="Fields of CoNLL-U or JSON lines that are columns, the label last."),
        click.option("--comments", multiple=True, metavar="TEXT", help="Lines that begin so are no tokens, and are written as they came."),
        click.option("--tabs", is_flag=True, help="Columns are parted by tabs alone."),
    )
    for option in reversed(options):
        command = option(command)
    return command


def form_of(ctx, files, vocabulary, *, format, fields, comments, tabs):
    """The Form of the FILES of a model with that vocabulary, None for plain columns or items. It has no scheme."""
    if format == "items" or (format == "auto" and vocabulary.format == "items"):
        if vocabulary.format != "items" or fields or comments or tabs:
            raise click.UsageError("--format items is for models of items, and goes with no other option of data", ctx)
        return None
    form = vocabulary.form and vocabulary.form.unschemed
    if format == "auto" and form is None and (seen := detected(files[0])):
        form = Form(seen)
        click.echo(f"{files[0]}: read as --format {seen}", err=True)
    if format not in ("auto", "conll"):
        form = form if form and form.format == format else Form(format)
    elif format == "conll":
        form = None
    return completed(ctx, form, fields, comments, tabs)


def schemed_form_of(ctx, files, vocabulary, **data):
    """The same with labels in the scheme that the model was learnt in."""
    form, own = form_of(ctx, files, vocabulary, **data), vocabulary.form
    return in_scheme(form, own.scheme, own.label) if own else form


def completed(ctx, form, fields, comments, tabs):
    """The Form with what the other options say of it; UsageError where they do not go together."""
    if comments or tabs:
        form = form or Form()
        if form.format != "columns":
            raise click.UsageError(f"--comments and --tabs are for columns, not for {form.format}", ctx)
        form = replace(form, comments=(*form.comments, *comments), tabs=form.tabs or tabs)
    if fields:
        if not form or form.format not in ("conllu", "jsonl"):
            raise click.UsageError("--fields names fields of CoNLL-U or JSON lines (--format conllu, --format jsonl)", ctx)
        form = replace(form, fields=tuple(fields.split(",")))
    try:
        if form and form.format == "conllu":
            form.module.fields(form)
    except ValueError as error:
        raise click.UsageError(f"--fields: {error}", ctx) from None
    return form


def writer_of(ctx, form, as_json, inline, scheme, labels_only, marginals, score):
    """What writes a tagged sentence, None for columns with the label appended."""
    from ..tagging import writers

    if as_json and inline:
        raise click.UsageError("--json or --inline", ctx)
    if (as_json or inline) and labels_only:
        raise click.UsageError("--labels-only writes labels alone, without --json and --inline", ctx)
    told = "--marginals" if marginals else "--score" if score else None
    if told and (inline or (form is not None and form.format == "pipes" and not (as_json or labels_only))):
        raise click.UsageError(f"{'--inline' if inline else '--format pipes'} has no place for {told}; --json has", ctx)
    if marginals == "all" and not as_json and (scheme or (form is not None and not labels_only)):
        raise click.UsageError(f"--marginals all {'of another scheme' if scheme else f'of {form.format}'} has no place; --json has", ctx)
    if not (as_json or inline or scheme or form) or (labels_only and not scheme):
        return None
    if labels_only:
        return writers.labels(scheme)
    write = writers.as_json if as_json else writers.inline if inline else writers.as_read(form)
    return writers.in_scheme(write, scheme) if scheme else write


@click.command(cls=Command)
@click.argument("files", nargs=-1)
@click.option("--from", "format", type=click.Choice(["auto", *FORMATS]), default="auto", help="What FILES are; auto: by the first lines.")
@click.option("--to", "target", type=click.Choice(TARGETS), default="columns", show_default=True, help="What to write.")
@click.option("--fields", metavar="A,B,..", help="Fields of CoNLL-U or JSON lines, or those --to conllu writes; the label last.")
@click.option("--comments", multiple=True, metavar="TEXT", help="Lines of columns that begin so are left out.")
@click.option("--tabs", is_flag=True, help="Columns are parted by tabs alone.")
@click.option("--scheme", type=click.Choice(SCHEMES), help="Write tags in this scheme.")
@click.option("--encoding", default="utf-8", show_default=True, help="Encoding of the text.")
@click.pass_context
def convert(ctx, files, format, target, fields, comments, tabs, scheme, encoding):
    """Write labelled data in another format, its tags in another scheme. The label is the last column.

    \b
      crftrain convert --fields form,xpos,upos en.conllu > en.txt
      crftrain convert --scheme bioes iob.txt > bioes.txt
      crftrain convert --to jsonl train.txt > train.jsonl
      crftrain convert --to conllu --fields form,xpos,upos train.txt > en.conllu
    """
    from ..tagging import writers

    files = inputs(files)
    format = (detected(files[0]) or "columns") if format == "auto" else format
    form = Form(format, scheme=scheme if format == "jsonl" else None)
    conllu = None
    if target == "conllu":
        conllu, fields = _conllu(ctx, format, fields)
    form = completed(ctx, form, fields, comments, tabs)
    out = sys.stdout.buffer
    for path in files:
        for record in form.sentences(path, encoding=encoding):
            out.write(writers.converted(record, target, scheme, conllu))
        out.flush()


def _conllu(ctx, format, fields):
    """(Form of CoNLL-U to write, fields to read).

    Columns and word|TAG are what --fields says; lists of objects are what they are called, and two of other names words and labels.
    """
    from ..text.conllu import target

    names = fields.split(",") if fields else []
    try:
        form = target(names)
    except ValueError as error:
        if format != "jsonl" or len(names) != 2:
            raise click.UsageError(f"--fields: {error}", ctx) from None
        form = target(())
    return form, fields if format in ("conllu", "jsonl") else None
