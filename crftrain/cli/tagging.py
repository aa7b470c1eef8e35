"""tag and eval."""

from itertools import chain

import click
from click.core import ParameterSource

from ..errors import DataError
from ..text.schemes import SCHEMES
from .base import Command, column_option, inputs, spare, write_lines
from .data import data_options, form_of, writer_of
from .decoding import decoding_options, parted
from .quick import tag_files
from .workers import tag_apart, workers_option

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
@decoding_options
@click.option("--encoding", default="utf-8", show_default=True, help="Encoding of the text.")
@click.option("-j", "--threads", type=click.IntRange(min=1), default=1, show_default=True, metavar="N", help="Threads.")
@click.option(
    "--on-error",
    type=click.Choice(["stop", "skip", "keep"]),
    default="stop",
    show_default=True,
    help="What is done about a sentence that cannot be tagged; with `keep` it is written as it came. The status is then 1.",
)
@data_options
@click.option("--json", "as_json", is_flag=True, help="Write an object a line for each sentence: tokens, labels, spans.")
@click.option("--inline", is_flag=True, help="Write a sentence a line, <TYPE>..</TYPE> around chunks; of a segmentation its words.")
@click.option("--scheme", type=click.Choice(SCHEMES), help="Write tags in this scheme, whatever the model's is.")
@workers_option("Tag the files, and those of folders, on N processes here or on the workers of a Dask scheduler; with --out.")
@click.option("--out", metavar="DIR", help="With --workers: the folder for what is written, a file of the same name for each.")
@click.pass_context
def tag(ctx, model, files, workers, out, labels_only, marginals, score, gold, encoding, threads, on_error, as_json, inline, scheme, **more):
    """Tag FILES with MODEL: each input line with its label appended. Reads standard input without FILES.

    \b
      crftrain tag model.bin test.txt > tagged.txt
      producer | crftrain tag --marginals best model.bin | consumer
      crftrain tag --constrain auto -n 5 model.bin test.txt
      crftrain tag --json --score --min-confidence 0.8 model.bin test.txt
      crftrain tag --workers 4 --out tagged model.bin folder

    Columns may have the gold label or not: the model knows how many to expect.
    """
    if workers is not None or out is not None:
        tag_apart(ctx, workers, out, model, files)
        return
    from ..model.model import load_bare
    from ..tagging.tag import Output, Tagger
    from ..text.read import runs

    if on_error == "keep" and labels_only:
        raise click.UsageError("--on-error keep writes lines as they came, --labels-only writes no lines", ctx)
    decoding, data = parted(more)
    loaded, files = load_bare(model), inputs(files)
    form = form_of(ctx, files, loaded.vocabulary, **data)
    writer = writer_of(ctx, form, as_json, inline, scheme, labels_only, marginals, score)
    output = Output(labels_only=labels_only, score=score, marginals=marginals, writer=writer, **decoding.asked)
    decoding.check(ctx, output, loaded)
    tagger = Tagger(loaded, gold=gold, output=output, encoding=encoding, legal=decoding.legal(ctx, loaded), once=decoding.once(ctx, loaded))
    if form:
        stream = chain.from_iterable(form.blocks(path, encoding=encoding) for path in files)
    else:
        stream = chain.from_iterable(runs(path, encoding=encoding, checked=on_error == "stop") for path in files)
    failed = tag_files(tagger, stream, threads=threads, on_error=on_error)
    if tagger.unproved:
        click.echo(f"crftrain: the labels of {tagger.unproved:,} sequences keep to --once, but may not be the best that do", err=True)
    if failed:
        click.echo(f"crftrain: {failed:,} sentence{'s' * (failed != 1)} could not be tagged", err=True)
        ctx.exit(1)


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
@click.option("--scheme", type=click.Choice(SCHEMES), help="Put the labels of both columns into this tag scheme first.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.option("--calibration", is_flag=True, help="Print instead how far probabilities can be believed, of tokens and spans.")
@click.option("--picture", metavar="FILE", help="With --calibration: draw it, as PNG, SVG or PDF (matplotlib).")
@click.option("--confusion", is_flag=True, help="Print the confusion matrix too.")
@click.option("--interval", is_flag=True, help="Print intervals too, by resampling the sequences.")
@click.option("--errors", type=click.IntRange(min=1), metavar="N", help="Print the N worst sentences too.")
@click.option("--encoding", default="utf-8", show_default=True, help="Encoding of the text.")
@click.pass_context
def evaluate(ctx, files, gold, predicted, chunks, scheme, as_json, calibration, picture, confusion, interval, errors, encoding):
    """Score the output of `tag`, in all its forms: conlleval's numbers, then sequence accuracy and a table of labels.

    \b
      crftrain tag model.bin test.txt | crftrain eval
      crftrain eval --json tagged.txt
      crftrain tag --json --score --marginals best model.bin test.txt | crftrain eval --calibration
    """
    import json

    from ..tagging.evaluate import Evaluation
    from ..tagging.tagged import read_columns
    from ..text.read import runs

    stream, kept = chain.from_iterable(runs(path, encoding=encoding) for path in inputs(files)), []
    if picture and not calibration:
        raise click.UsageError("--picture needs --calibration", ctx)
    spare(ctx, [picture], files)
    if calibration:
        _calibration(ctx, chain.from_iterable(run.sentences() for run in stream), gold, as_json, picture)
        return
    stream = stream if errors is None else _keeping(stream, kept)
    evaluation = Evaluation(chunks=CHUNKS[chunks])
    sure = ctx.get_parameter_source("gold") is ParameterSource.COMMANDLINE
    read_columns(evaluation, stream, gold=gold, predicted=predicted, sure=sure, scheme=scheme)
    if not evaluation.n_tokens:
        raise DataError(", ".join(files) or "<stdin>", "no tokens", "lines whose last two columns are gold and predicted labels")
    if interval:
        from ..report import intervals

        found = intervals.intervals(evaluation)
    if as_json:
        more = {"intervals": intervals.as_json(found)} if interval else {}
        if errors is not None:
            from ..report.worst import worst_as_json

            more["worst"] = worst_as_json(evaluation, _rows(evaluation, kept), errors)
        click.echo(json.dumps({**evaluation.as_json(), **more}, ensure_ascii=False))
        return
    click.echo(evaluation.report() + ("\n\n" + evaluation.confusion() if confusion else ""))
    if interval:
        write_lines([*intervals.lines(found), ""])
    if errors is not None:
        write_lines(_worst(evaluation, kept, errors))


def _calibration(ctx, stream, gold, as_json, picture):
    """The tables, and the picture where one is wanted."""
    import json

    from ..report import plot
    from ..tagging.calibration import Calibration

    if picture and not plot.available():
        raise click.UsageError("--picture needs matplotlib (pip install matplotlib)", ctx)
    found = Calibration().read(stream, gold=gold).parts()
    if picture:
        plot.reliability(found, picture)
    if as_json:
        click.echo(json.dumps({name: part.as_json() for name, part in found.items()}))
        return
    for name, part in found.items():
        write_lines([*part.lines(name), ""])


def _keeping(stream, kept):
    """The sentences of the stream, which are kept."""
    for run in stream:
        for sentence in run.sentences():
            kept.append(sentence)
            yield sentence


def _rows(evaluation, sentences):
    """(place, words) of each sentence; a line with the probability may stand before the tokens."""
    from ..text.read import columns

    sizes = evaluation.by_sequence().tokens[:, 0].tolist()
    return [
        (sentence.place(len(sentence.lines) - size), [columns(line)[0].decode() for line in sentence.lines[-size:]])
        for sentence, size in zip([sentence for sentence in sentences if _has_tokens(sentence)], sizes, strict=True)
    ]


def _worst(evaluation, sentences, n):
    """The n worst of the sentences as lines for the terminal."""
    from shutil import get_terminal_size

    from ..report.worst import WIDTH, worst
    from . import colour

    width = get_terminal_size((WIDTH, 0)).columns
    return worst(evaluation, _rows(evaluation, sentences), n, paint=colour.painter(colour.wanted()), width=width)


def _has_tokens(sentence):
    return len(sentence.lines) > 1 or not sentence.lines[0].startswith(b"@probability\t")
