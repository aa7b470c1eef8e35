"""tag and eval."""

import sys
from itertools import chain

import click
from click.core import ParameterSource

from ..errors import DataError
from .base import Command, column_option, inputs

CHUNKS = {"auto": None, "yes": True, "no": False}


class TagCommand(Command):
    """--marginals may stand alone: then it means --marginals=best."""

    def parse_args(self, ctx, args):
        out = []
        for i, arg in enumerate(args):
            alone = arg == "--marginals" and args[i + 1 : i + 2] not in (["best"], ["all"])
            out.append("--marginals=best" if alone else arg)
        return super().parse_args(ctx, out)


@click.command(cls=TagCommand)
@click.argument("model")
@click.argument("files", nargs=-1)
@click.option("--labels-only", is_flag=True, help="Write only the predicted labels.")
@click.option("--marginals", type=click.Choice(["best", "all"]), help="Write label:probability; with `all` those of every label after it.")
@click.option("--score", is_flag=True, help="Write @probability and the labelling's probability before each sequence.")
@click.option(
    "--gold", type=click.Choice(["yes", "no", "auto"]), default="auto", show_default=True, help="Whether items begin with a gold label."
)
@click.option("--encoding", default="utf-8", show_default=True, help="Encoding of the text.")
@click.option("-j", "--threads", type=click.IntRange(min=1), default=1, show_default=True, metavar="N", help="Threads.")
def tag(model, files, labels_only, marginals, score, gold, encoding, threads):
    """Tag FILES with MODEL: each input line with its label appended. Reads standard input without FILES.

    \b
      crftrain tag model.bin test.txt > tagged.txt
      producer | crftrain tag --marginals best model.bin | consumer

    Columns may have the gold label or not: the model knows how many to expect.
    """
    from ..model.model import load
    from ..tagging.tag import Output, Tagger, tag_stream
    from ..text.read import sentences

    output = Output(labels_only=labels_only, score=score, marginals=marginals)
    tagger = Tagger(load(model), gold=gold, output=output, encoding=encoding)
    stream = chain.from_iterable(sentences(path, encoding=encoding) for path in inputs(files))
    out = sys.stdout.buffer

    def write(text):
        out.write(text)
        out.flush()

    tag_stream(tagger, stream, write, threads=threads)


@click.command("eval", cls=Command)
@click.argument("files", nargs=-1)
@column_option("--gold", -2, "Column of the gold labels.")
@column_option("--predicted", -1, "Column of the predicted labels.")
@click.option(
    "--chunks",
    type=click.Choice([*CHUNKS]),
    default="auto",
    show_default=True,
    help="Whether labels are those of chunks, as B-NP I-NP O are; auto: if they look so, as with `learn --dev`.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.option("--confusion", is_flag=True, help="Print the confusion matrix too.")
@click.option("--encoding", default="utf-8", show_default=True, help="Encoding of the text.")
@click.pass_context
def evaluate(ctx, files, gold, predicted, chunks, as_json, confusion, encoding):
    """Score the output of `tag`, in all its forms: conlleval's numbers, then sequence accuracy and a table of labels.

    \b
      crftrain tag model.bin test.txt | crftrain eval
      crftrain eval --json tagged.txt
    """
    import json

    from ..tagging.evaluate import Evaluation
    from ..tagging.tagged import read_columns
    from ..text.read import sentences

    stream = chain.from_iterable(sentences(path, encoding=encoding) for path in inputs(files))
    evaluation = Evaluation(chunks=CHUNKS[chunks])
    sure = ctx.get_parameter_source("gold") is ParameterSource.COMMANDLINE
    read_columns(evaluation, stream, gold=gold, predicted=predicted, sure=sure)
    if not evaluation.n_tokens:
        raise DataError(", ".join(files) or "<stdin>", "no tokens", "lines whose last two columns are gold and predicted labels")
    if as_json:
        click.echo(json.dumps(evaluation.as_json(), ensure_ascii=False))
        return
    click.echo(evaluation.report())
    if confusion:
        click.echo("\n" + evaluation.confusion())
