"""dump, info, features, algorithms, completion: commands that show something."""

import json
import sys
from itertools import chain

import click

from .. import optimizers
from . import completion as completion_
from .base import Command, column_option, inputs, write_lines
from .flags import algorithm_named, setting


@click.command(cls=Command)
@click.argument("model")
@click.option("--top", type=click.IntRange(min=1), metavar="N", help="Only the N heaviest weights of each kind, heaviest first.")
@click.option("--json", "as_json", is_flag=True, help="JSON, an object a line.")
def dump(model, top, as_json):
    """Print what MODEL has learnt, as text: training facts, transitions, attributes.

    \b
      crftrain dump --top 20 model.bin
      crftrain dump --json model.bin | jq 'select(.name == "U02:the")'
    """
    from ..model.dump import dump as lines
    from ..model.dump import dump_json
    from ..model.model import load

    write_lines((dump_json if as_json else lines)(load(model), top))


@click.command(cls=Command)
@click.argument("model")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.option("--options", "as_options", is_flag=True, help="Print the options of its training, a file for `learn --config`.")
@click.option("--template", "as_template", is_flag=True, help="Print its template.")
@click.pass_context
def info(ctx, model, as_json, as_options, as_template):
    """Print what MODEL is: its size, the data that it reads, and what it says of its training.

    \b
      crftrain info model.bin
      crftrain info --options model.bin > run.toml && crftrain learn --config run.toml train.txt
      crftrain info --template model.bin > template.txt
    """
    from ..model import info as about
    from ..model.model import load

    if as_json + as_options + as_template > 1:
        raise click.UsageError("one of --json, --options and --template", ctx)
    model = load(model)
    if as_json:
        click.echo(json.dumps(about.facts(model), ensure_ascii=False))
    else:
        write_lines((about.options if as_options else about.template if as_template else about.lines)(model))


@click.command(cls=Command)
@click.argument("files", nargs=-1)
@click.option("-t", "--template", required=True, metavar="NAME|FILE", help="Feature template: chunk, ner, pos, seg, or a file.")
@setting("--dialect", help="What the template's lines mean: what they do here, or to CRF++ or Wapiti.")
@column_option("--label-column", -1, "Column of the labels, from 0, or from the end if negative.")
@click.option("--encoding", default="utf-8", show_default=True, help="Encoding of the text.")
def features(files, template, dialect, label_column, encoding):
    """Print the attributes that a template makes of FILES, in CRFsuite's item format.

    \b
      crftrain features -t ner train.txt | head
    """
    from ..text.encode import expand_runs
    from ..text.read import runs
    from ..text.template import load

    stream = chain.from_iterable(runs(path, encoding=encoding) for path in inputs(files))
    template = load(template, dialect)
    if not template.plain_transitions:
        click.echo("the template has no B line; items are always learnt with transitions", err=True)
    for text in expand_runs(stream, template, label_column=label_column):
        sys.stdout.flush()
        sys.stdout.buffer.write(text)


@click.command(cls=Command)
@click.argument("name", required=False)
@click.option("--json", "as_json", is_flag=True, help="JSON, an object a line.")
@click.pass_context
def algorithms(ctx, name, as_json):
    """List the training algorithms, or explain one: its options, defaults and reference.

    \b
      crftrain algorithms
      crftrain algorithms sag
    """
    chosen = [algorithm_named(name, ctx)] if name else [optimizers.get(name) for name in optimizers.names()]
    if as_json:
        write_lines(json.dumps(described(algorithm), ensure_ascii=False) for algorithm in chosen)
    elif name:
        write_lines(explain(*chosen))
    else:
        write_lines(f"{algorithm.name}  {algorithm.summary}" for algorithm in chosen)


def described(algorithm):
    """An algorithm's declaration as plain values."""
    names = ("name", "summary", "details", "reference", "solves", "step_name", "passes", "tol")
    said = {name: getattr(algorithm, name) for name in names} | {"solves": sorted(algorithm.solves)}
    options = [{"name": o.name, "flag": o.flag, "range": o.range, "default": o.default, "help": o.help} for o in algorithm.options]
    return {**said, "options": options}


def explain(algorithm):
    yield f"{algorithm.name}: {algorithm.summary}"
    if algorithm.details:
        yield "\n" + algorithm.details
    yield f"\nReference: {algorithm.reference}"
    penalties = [name for kind, name in (("l2", "--lambda"), ("l1", "--l1")) if kind in algorithm.solves]
    yield f"Penalties: {', '.join(penalties) or 'none'}" + ("; --lambda 0 works" if "no-l2" in algorithm.solves else "")
    step = "that of the one chosen" if algorithm.adapts else f"one {algorithm.step_name}"
    yield f"A step is {step}; by default at most {algorithm.passes}; {_ends(algorithm)}"
    for option in algorithm.options:
        default = {True: "yes", False: "no"}.get(option.default, option.default) if option.kind is bool else option.default
        yield f"\n  {option.flag}  ({option.range}; default {default})\n      {option.help}"


def _ends(algorithm):
    """Where it stops by itself."""
    from ..training.loop import Plateau

    if algorithm.tol is None:
        return f"no --tol is proved on the way, and a plateau ends it:\n{Plateau.LAW}"
    return f"--tol ends it, or where nothing can be proved a gap of {algorithm.tol:g}"


@click.command(cls=Command)
@click.argument("shell", type=click.Choice(completion_.SHELLS))
@click.pass_context
def completion(ctx, shell):
    """Print what SHELL has to read to complete commands, options, files and names.

    \b
      crftrain completion bash > ~/.local/share/bash-completion/completions/crftrain
      crftrain completion zsh > ~/.zfunc/_crftrain
      crftrain completion fish > ~/.config/fish/completions/crftrain.fish
    """
    click.echo(completion_.script(ctx.parent.command, shell))
