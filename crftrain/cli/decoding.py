"""How sequences are decoded: the flags of `tag` for legal, ranked, known and sure labels."""

from dataclasses import dataclass

import click

from ..errors import SettingsError
from ..text.legal import SCHEMES

_OPTIONS = (
    click.option(
        "-n", "--best", "n", type=click.IntRange(1, 10_000), default=1, metavar="N", help="The N best labellings, with their probabilities."
    ),
    click.option(
        "--decode",
        type=click.Choice(["viterbi", "posterior"]),
        default="viterbi",
        show_default=True,
        help="The most probable labelling, or the one with the most probable label of each token.",
    ),
    click.option("--constrain", type=click.Choice(SCHEMES), help="Only labels in the order of a tag scheme; auto: of the labels' own."),
    click.option("--forbid", multiple=True, metavar="'A B'", help="Never label B after A; patterns with *, ^ is the start and $ the end."),
    click.option("--allow", multiple=True, metavar="'A B'", help="Label B after A in spite of --constrain."),
    click.option("--once", metavar="A,B,..|all", help="At most one run of these labels, or types of chunks, in a sequence."),
    click.option("--force", is_flag=True, help="The label column has what is known: a label, A|B, or ? for nothing; the rest is found."),
    click.option("--min-confidence", type=click.FloatRange(0, 1), metavar="X", help="Leave out chunks less probable than X."),
)


def decoding_options(command):
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


@dataclass(frozen=True)
class Decoding:
    """What these flags say."""

    asked: dict  # fields of tagging.tag.Output
    constrain: str | None
    forbid: tuple
    allow: tuple
    labels_once: str | None

    def check(self, ctx, output, model):
        """UsageError for what does not go together."""
        ranked, posterior = output.query.n > 1, output.query.posterior
        if ranked and (output.writer or output.marginals or posterior or output.confidence is not None):
            raise click.UsageError("-n goes with columns and --labels-only, and with --constrain, --forbid, --allow, --force alone", ctx)
        if self.labels_once and (ranked or posterior or output.score or output.marginals or output.confidence is not None):
            raise click.UsageError("--once finds the best labels: no -n, --score, --marginals, --min-confidence, --decode posterior", ctx)
        if posterior and (output.score or output.confidence is not None):
            raise click.UsageError("--decode posterior has no --score, no --min-confidence: these are of the most probable labelling", ctx)
        if output.confidence is not None and "O" not in model.vocabulary.labels:
            raise click.UsageError("--min-confidence puts O in the place of chunks, and the model has no label O", ctx)

    def once(self, ctx, model):
        """The rule of one run, or None."""
        if not self.labels_once:
            return None
        from ..tagging.once import Once

        try:
            return Once(model.vocabulary.labels, self.labels_once.split(","))
        except SettingsError as error:
            raise click.UsageError(str(error), ctx) from None

    def legal(self, ctx, model):
        """What is legal; None: everything."""
        if not (self.constrain or self.forbid or self.allow):
            return None
        try:
            return model.legal(scheme=self.constrain, forbid=self.forbid, allow=self.allow)
        except SettingsError as error:
            raise click.UsageError(str(error), ctx) from None


def parted(options):
    """(Decoding, the other options)"""
    rest = dict(options)
    rules = {name: rest.pop(name) for name in ("constrain", "forbid", "allow")}
    from ..tagging.query import Query

    query = Query(n=rest.pop("n"), posterior=rest.pop("decode") == "posterior")
    asked = {"query": query, "known": rest.pop("force"), "confidence": rest.pop("min_confidence")}
    return Decoding(asked, **rules, labels_once=rest.pop("once")), rest
