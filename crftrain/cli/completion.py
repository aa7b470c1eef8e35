"""What a shell may complete: commands and options, which click knows; here files, and the names of algorithms and templates."""

import click
from click.shell_completion import CompletionItem, get_completion_class

SHELLS = ("bash", "zsh", "fish")
VARIABLE = "_CRFTRAIN_COMPLETE"
FILES = ("FILE", "MODEL", "DIR", "OLD")  # in the metavars of options that take a path


class Word(click.ParamType):
    """Text that may be one of some names, or, with files, a path; the command checks it."""

    name = "text"

    def __init__(self, names=lambda: (), *, files=False):
        self.names, self.files = names, files

    def shell_complete(self, ctx, param, incomplete):
        found = [CompletionItem(name) for name in self.names() if name.startswith(incomplete)]
        return [*found, CompletionItem(incomplete, type="file")] if self.files else found


def algorithms():
    from .. import optimizers

    return optimizers.names()


def templates():
    from ..text.template import builtin_names

    return builtin_names()


NAMED = {"algorithm": Word(algorithms), "entrants": Word(algorithms), "name": Word(algorithms), "template": Word(templates, files=True)}


def attach(param):
    """Let a parameter that is plain text be completed as what it is."""
    if param.type is not click.STRING:
        return
    if param.name in NAMED:
        param.type = NAMED[param.name]
    elif isinstance(param, click.Argument) or param.name == "model" or any(word in (param.metavar or "") for word in FILES):
        param.type = Word(files=True)


def script(command, shell):
    """What the shell has to read."""
    return get_completion_class(shell)(command, {}, "crftrain", VARIABLE).source()
