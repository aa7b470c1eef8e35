"""`crftrain explain`: why a token got its label."""

import json

import click

from ..errors import DataError
from .base import Command, inputs
from .data import data_options, schemed_form_of

SHOWN = 10
AT_ONCE = 500  # sentences that are looked at together


@click.command(cls=Command)
@click.argument("model")
@click.argument("files", nargs=-1)
@click.option("--line", "lines", type=click.IntRange(min=1), multiple=True, metavar="N", help="Explain the token on line N; repeat it.")
@click.option("--word", "words", multiple=True, metavar="TEXT", help="Explain the tokens whose first column this is; repeat it.")
@click.option("--against", metavar="LABEL", help="Compare with this label.  [default: the gold one of a wrong token, else the runner-up]")
@click.option("--top", type=click.IntRange(min=0), default=SHOWN, show_default=True, metavar="N", help="Attributes shown; 0: all.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object a line.")
@click.option(
    "--gold", type=click.Choice(["yes", "no", "auto"]), default="auto", show_default=True, help="Whether items begin with a gold label."
)
@click.option("--encoding", default="utf-8", show_default=True, help="Encoding of the text.")
@data_options
@click.pass_context
def explain(ctx, model, files, lines, words, against, top, as_json, gold, encoding, **data):
    """Explain why tokens of FILES got the labels they got: all that are wrong, or those on given lines.

    \b
      crftrain explain model.bin test.txt
      crftrain explain --line 17 --against B-NP model.bin test.txt

    The margin between the best labelling with the label and the best with another one is taken apart: the attributes of the token,
    the transitions, and other tokens whose labels would change too. It is the sum of what is shown, up to rounding.
    """
    from ..model.model import load
    from ..tagging.explain import Explainer, in_words
    from ..text.read import columns, sentences

    explainer, files = Explainer(load(model), gold=gold), inputs(files)
    form = schemed_form_of(ctx, files, explainer.model.vocabulary, **data)
    if against is not None and against not in explainer.labels:
        raise click.UsageError(f"the model has no label {against!r}, expected one of {', '.join(explainer.labels)}", ctx)
    other, shown = explainer.labels.index(against) if against is not None else None, top or None
    wanted, found = _wanted(lines, {word.encode() for word in words}), 0
    for path in files:
        for some in _in_batches(sentences(path, encoding=encoding, form=form), wanted):
            looked = explainer.look(some)
            asked = _asked(looked, wanted)
            if asked is None:
                raise DataError(some[0].place(), "no gold label, so no token is known to be wrong", "a labelled file, or --line or --word")
            for t in asked:
                if other == looked.labels[t]:
                    continue
                explanation, found = looked.explain(t, other), found + 1
                if as_json:
                    click.echo(json.dumps(explanation.as_json(shown), ensure_ascii=False))
                    continue
                rows = [columns(line) for line in looked.sentences[explanation.sequence].lines]
                click.echo("\n".join(in_words(explanation, [row[0].decode() if row else "" for row in rows], top=shown)) + "\n")
    if not found:
        click.echo("nothing to explain: no such token" + ("" if wanted else ", all labels are right"), err=True)


def _wanted(lines, words):
    """(sentence, i) -> whether its i-th line is asked for; None: those that are wrong are."""
    if not lines and not words:
        return None
    from ..report.listing import line_of

    return lambda sentence, i: line_of(sentence, i) in lines or (bool(words) and (sentence.lines[i].split() or [b""])[0] in words)


def _in_batches(stream, wanted):
    """Lists of sentences, only those with a line that is asked for."""
    batch = []
    for sentence in stream:
        if wanted is None or any(wanted(sentence, i) for i in range(len(sentence.lines))):
            batch.append(sentence)
        if len(batch) == AT_ONCE:
            yield batch
            batch = []
    if batch:
        yield batch


def _asked(looked, wanted):
    """The tokens asked for, counted over the batch; None if that needs gold labels, and there are none."""
    if wanted is None:
        return looked.wrong() if looked.explainer.encoder.has_gold(looked.sentences[0]) else None
    tokens = [(sentence, i) for sentence in looked.sentences for i in range(len(sentence.lines))]
    return [t for t, (sentence, i) in enumerate(tokens) if wanted(sentence, i)]
