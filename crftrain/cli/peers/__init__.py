"""`crftrain as PROGRAM ARGS...`: the command lines of crfsuite, crf_learn, crf_test and wapiti, so that scripts change one word.

Models are read and written in the program's own format, output has its form, and training ends where theirs does (compat/stops.py).
Any word that cannot be kept to is an error of usage.
"""

import click

from ...errors import DataError
from ..base import Command
from .crfpp import crf_learn, crf_test
from .crfsuite import crfsuite
from .wapiti import wapiti

PROGRAMS = {"crfsuite": crfsuite, "crf_learn": crf_learn, "crf_test": crf_test, "wapiti": wapiti}


class Verbatim(Command):
    """A command that leaves what follows its first argument as it is."""

    def parse_args(self, ctx, args):
        ctx.ignore_unknown_options, ctx.allow_interspersed_args = True, False
        return super().parse_args(ctx, args)


@click.command("as", cls=Verbatim)
@click.argument("program", type=click.Choice([*PROGRAMS]))
@click.argument("words", nargs=-1, type=click.UNPROCESSED)
@click.pass_context
def as_program(ctx, program, words):
    """Do what another PROGRAM would do with its own command line, and write what it would write.

    \b
      crftrain as crf_learn -c 2 template train.txt model
      crftrain as crf_test -v1 -n 3 -m model test.txt
      crftrain as wapiti train -p patterns.txt -1 0.1 train.txt model.wapiti
      crftrain as wapiti label -s -p -m model.wapiti test.txt
      crftrain as crfsuite learn -p c1=0.1 -m model.crfsuite train.items
      crftrain as crfsuite tag -i -r -m model.crfsuite test.items

    Models are read and written in its format. Training ends where the program ends it. A word that cannot be kept to is an error.
    """
    try:
        PROGRAMS[program](ctx, list(words))
    except BrokenPipeError:
        raise
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(getattr(error, "filename", None) or program, getattr(error, "strerror", None) or str(error)) from None
