"""learn, update, compare: the commands that train."""

import os
import signal

import click

from ..text.legal import SCHEMES
from ..training.events import Observers
from ..training.settings import DEFAULT_ALGORITHM
from ..training.signals import StopSignal
from .base import Command, write_lines
from .ending import main
from .flags import NUMBER, STRENGTH, STRENGTHS, AlgorithmCommand, UpdateCommand, asked, setting, training_options
from .group import CONTEXT, commands
from .progress import Console, run_training, say_now
from .report import reporting
from .workers import workers_option, working

__all__ = ["CONTEXT", "DEFAULT_ALGORITHM", "commands", "compare", "learn", "main", "update"]


# ---- learn -----------------------------------------------------------------------------------------------------------


@click.command(cls=AlgorithmCommand, options_metavar="[OPTIONS]")
@click.option(
    "-a",
    "--algorithm",
    metavar="NAME",
    help=f"Training algorithm; `crftrain algorithms` lists them.  [default: {DEFAULT_ALGORITHM}]",
)
@click.option("-m", "--model", default="model.bin", show_default=True, help="Where the model is written.")
@click.option(
    "-t", "--template", metavar="NAME|FILE", help="Feature template: chunk, ner, pos, seg, or a file. Default: by columns and labels."
)
@click.option("--template-search", is_flag=True, help="Find the lines, of the template and the built-in ones, that are worth having.")
@click.option(
    "--lambda",
    "lambdas",
    type=STRENGTHS,
    help="Squared penalty: X or X/n, n the number of sequences; a list is a path; auto: the best by --dev, --folds or a tenth set apart.  "
    "[default: 1/n; 0 with --l1]",
)
@click.option("--l1", "l1s", type=STRENGTHS, help="Absolute penalty: X or X/n; a list is a path; auto.  [default: 0]")
@setting("--dialect", help="What the template's lines mean: what they do here, or to CRF++ or Wapiti.")
@setting("--scheme", help="Learn the labels in this tag scheme, whatever the data's is; `tag --scheme` writes another one back.")
@setting("--features", help="Weights for pairs of attribute and label seen in training, or for all.")
@setting("--transitions", help="Weights for all pairs of labels, or for those seen; auto: all of up to 64 labels.")
@setting("--min-freq", help="Drop attributes that occur fewer than N times.")
@setting("--format", help="Columns (conll), CRFsuite's items, CoNLL-U, JSON lines, word|TAG; auto: by the first lines of a file.")
@setting("--fields", metavar="A,B,..", help="Fields of CoNLL-U or JSON lines that are columns, the label last.  [default: form,upos]")
@click.option("--comments", multiple=True, metavar="TEXT", help="Skip lines that begin so, as # or -DOCSTART-; repeat it for more.")
@click.option("--tabs", is_flag=True, help="Columns are parted by tabs alone: cells may hold spaces, or nothing.")
@click.option("--label-column", type=int, help="Column of the labels, from 0, or from the end if negative.  [default: -1]")
@click.option("--constrain", type=click.Choice(SCHEMES), help="Learn over label sequences of a tag scheme alone; auto: of the labels' own.")
@click.option(
    "--forbid", multiple=True, metavar="'A B'", help="Label B after A is not legal; patterns with *, ^ is the start and $ the end."
)
@click.option("--allow", multiple=True, metavar="'A B'", help="Label B after A is legal in spite of --constrain.")
@setting("--on-illegal", help="What is done about sentences whose labels are not legal: fix takes the nearest ones, drop leaves them out.")
@click.option("--calibrate", metavar="FILE", help="Held-out data to make probabilities believable by: a temperature, kept in the model.")
@setting("--folds", help="Cross-validate with N folds first, --threads of them at a time, then train on everything; it chooses from lists.")
@setting("--repeat", help="Do it N times, with other seeds on --dev or --folds dealt out anew: mean and deviation of the scores.")
@click.option("--folds-out", metavar="FILE", help="What the folds predict, as `tag --marginals best` writes it and `eval` reads it.")
@click.option("--group-by", metavar="WHAT", help="What no fold tears apart: file, document (from -DOCSTART- on), or a column's number.")
@click.option("--init", metavar="MODEL", help="Start from the weights of a model, by the names of attributes and labels.")
@click.option("--checkpoint", metavar="FILE", help="Write what --resume needs, every --checkpoint-every steps and when interrupted.")
@setting("--checkpoint-every", help="Steps between checkpoints.")
@click.option("--resume", metavar="FILE", help="Go on from a checkpoint, to the same bits as if never interrupted.")
@click.option("--report", metavar="FILE", help="Write a page about the run and the model, and how it does on --dev.")
@training_options
@click.option("--stream", is_flag=True, help="Learn from TRAIN, which may be endless, sentence by sentence: one pass, nothing is kept.")
@setting("--save-every", help="Sentences of a stream from model to model.")
@setting("--n-hint", help="What n is in the X/n of a stream.")
@setting("--shards", help="Cut the data into N shards, to no other model: for batch methods.  [default with --workers: one for each]")
@workers_option("Train with N processes here, or with the workers of a Dask scheduler, to no other model: for batch methods.")
@click.option("--ship", is_flag=True, help="Read TRAIN here and send it to the workers, which do not see the files.")
@setting("--worker-timeout", metavar="S", help="Seconds of silence after which a worker counts as dead.  [default: 60]")
@click.option("--dry-run", is_flag=True, help="Read, count, say what memory training takes, and stop.")
@click.argument("train", nargs=-1, required=True)
@click.pass_context
def learn(ctx, train, algorithm, quiet, verbose, stream, dry_run, **settings):
    """Learn a model from TRAIN files (- is standard input; .gz, .bz2 and .xz are understood).

    \b
      crftrain learn --lambda 1/n --dev dev.txt train.txt
      crftrain learn -a lbfgs -t template.txt -m chunk.bin train1.txt train2.txt.gz
      producer | crftrain learn -a psa --stream --lambda 0.001 -

    Any option may also be given as -p NAME=VALUE.
    """
    from ..training.learn import learn as run
    from ..training.learn import look
    from ..training.stream import learn_stream

    if dry_run and stream:
        raise click.UsageError("--dry-run reads everything, which --stream does not", ctx)
    if dry_run and settings["workers"]:
        raise click.UsageError("--dry-run looks at this machine, not at --workers", ctx)
    ctx.command.refuse_values(ctx, train)
    options = {option.name: settings.pop(option.name) for option in ctx.meta["algorithm"].options}
    settings = asked(ctx, paths=train, algorithm=ctx.meta["algorithm"], options=options, stream=stream, **settings)
    run = working(run, settings) if settings.workers else run
    run = reporting(run) if settings.report else run
    run_training(ctx, look if dry_run else learn_stream if stream else run, settings, quiet, verbose)


# ---- update ----------------------------------------------------------------------------------------------------------


@click.command(cls=UpdateCommand, options_metavar="[OPTIONS]")
@click.option("-a", "--algorithm", metavar="NAME", help=UpdateCommand.HELP)
@click.option("-m", "--model", "out", metavar="MODEL2", help="Where the new model is written.  [default: in place of MODEL]")
@click.option("--replay", metavar="OLD", multiple=True, help="Old sentences to learn from too; repeat it for more files.")
@click.option("--lambda", "lambdas", type=STRENGTH, help="Squared penalty: X or X/n, n all sequences learnt from.  [default: the model's]")
@click.option("--l1", "l1s", type=STRENGTH, help="Absolute penalty: X or X/n.  [default: the model's]")
@training_options
@click.argument("model")
@click.argument("new", nargs=-1, required=True)
@click.pass_context
def update(ctx, model, new, algorithm, out, replay, lambdas, l1s, quiet, verbose, **settings):
    """Go on learning MODEL from NEW files, with the template and the format that it has.

    \b
      crftrain update model.bin monday.txt
      crftrain update --replay train.txt -m model2.bin model.bin monday.txt tuesday.txt

    MODEL is replaced when the new one is whole on disk. Labels and attributes that it has not are learnt too. Methods that go
    to the optimum need the old sentences besides (--replay), and then reach the optimum of both.
    """
    from ..training.update import update as run

    options = {option.name: settings.pop(option.name) for option in ctx.meta["algorithm"].options}
    own = {"algorithm": ctx.meta["algorithm"], "options": options, "lambdas": lambdas, "l1s": l1s}
    settings = asked(ctx, update=True, paths=new, model=out or model, init=model, replay=replay, **own, **settings)
    run_training(ctx, run, settings, quiet, verbose)


# ---- compare ---------------------------------------------------------------------------------------------------------


@click.command(cls=Command)
@click.argument("train", nargs=-1, required=True)
@click.option(
    "-a", "--algorithm", "entrants", multiple=True, required=True, metavar="NAME[:OPTION=VALUE,...]", help="An entrant; repeat it."
)
@click.option("--out", required=True, metavar="DIR", help="Folder for runs.jsonl, summary.tsv and the pictures.")
@click.option("--test", metavar="FILE", help="Test data, scored after each step.")
@click.option("--repeat", type=click.IntRange(min=1), default=1, show_default=True, metavar="N", help="Runs of each, with other seeds.")
@click.option("--jobs", type=click.IntRange(min=1), default=1, show_default=True, metavar="N", help="Runs at a time; more spoil the times.")
@click.option("-t", "--template", metavar="NAME|FILE", help="Feature template.")
@click.option("--lambda", "lambdas", type=STRENGTHS, help="Squared penalty, X or X/n.  [default: 1/n; 0 with --l1]")
@click.option("--l1", "l1s", type=STRENGTHS, help="Absolute penalty, X or X/n.  [default: 0]")
@setting("--passes", help="Largest number of steps.")
@click.option("--max-passes", type=NUMBER, metavar="X", help="Largest number of effective passes.")
@click.option("--max-seconds", type=NUMBER, metavar="X", help="Longest time of a run.")
@click.option("--tol", type=click.FloatRange(min=0), default=0.0, show_default=True, metavar="X", help="As in learn; 0: run to the limits.")
@setting("-j", "--threads", help="Threads of each run.")
@setting("--seed", help="Seed of the first run of each.")
@setting("--features", help="As in learn.")
@setting("--transitions", help="As in learn.")
@setting("--min-freq", help="As in learn.")
@setting("--format", help="As in learn.")
@setting("--encoding", metavar="NAME", help="Encoding of the text.")
@click.pass_context
def compare(ctx, train, entrants, repeat, jobs, **settings):
    """Race training algorithms on TRAIN files: distance to the optimum and test error against passes and seconds.

    \b
      crftrain compare --out race -a sag -a sag:sampling=uniform -a lbfgs:memory=50 --max-passes 50 train.txt
    """
    from ..report import plot, race_page
    from ..report.html import save
    from ..training import race as racing

    try:
        entrants = [racing.Entrant.parse(text) for text in entrants]
    except ValueError as error:
        raise click.UsageError(str(error), ctx) from None
    if settings["tol"] == 0 and not (settings["passes"] or settings["max_passes"] or settings["max_seconds"]):
        settings["max_passes"] = 50.0
    penalised = [(entrant.algorithm, entrant.options) for entrant in entrants if entrant.algorithm.solves & {"l1", "l2"}]
    for algorithm, options in penalised or [(DEFAULT_ALGORITHM, None)]:  # the others run beside them
        asked_for = asked(ctx, paths=train, algorithm=algorithm, options=options, **settings)
    if len(asked_for.points) > 1:
        raise click.UsageError("compare takes one strength, not a list", ctx)
    console = Console()
    with StopSignal(say_now) as stop:
        try:
            runs, found = racing.compare(asked_for, entrants, Observers(console, stop), repeat=repeat, jobs=jobs)
        except KeyboardInterrupt:
            ctx.exit(128 + (stop.number or signal.SIGINT))
    write_lines([*racing.leaders(runs, found), *race_page.repeats(runs, found)])
    (l2, l1), names = asked_for.points[0], ", ".join(map(os.path.basename, train))
    title, page = f"{names}: n = {found['n_sequences']:,}, lambda = {l2}, l1 = {l1}", os.path.join(asked_for.out, "race.html")
    save(page, race_page.race_page(runs, found, title))
    console.say(page)
    if plot.available():
        for path in plot.draw(runs, found, asked_for.out, title=title):
            console.say(str(path))
    else:
        console.say("no pictures: they need matplotlib (pip install matplotlib)")
    if stop.number is not None:
        ctx.exit(128 + stop.number)
