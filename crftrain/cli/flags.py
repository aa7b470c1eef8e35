"""What the commands that train share: their flags, with those of the algorithm that -a names, and Settings made of them."""

import contextlib
import re

import click

from .. import optimizers
from ..training.settings import CHOICES, DEFAULT_ALGORITHM, DEFAULT_ONLINE, DEFAULTS, LEAST, Settings
from ..training.strength import Strength
from . import migrants, presets
from .base import Command, inputs
from .completion import Word


class Parsed(click.ParamType):
    """A click type out of a function text -> value that raises ValueError."""

    def __init__(self, name, parse):
        self.name, self.parse = name, parse

    def convert(self, value, param, ctx):
        try:
            return self.parse(value) if isinstance(value, str) else value
        except ValueError as error:
            return self.fail(str(error), param, ctx)


STRENGTH, STRENGTHS = Parsed("X", Strength.parse), Parsed("X[,X...]", Strength.parse_list)
NUMBER = click.FloatRange(min=0, min_open=True)


def setting(*flags, help, metavar="N"):
    """An option for a setting; its type and its default are those that the settings say."""
    name = max(flags, key=len).lstrip("-").replace("-", "_")
    kind = click.Choice(CHOICES[name]) if name in CHOICES else click.IntRange(min=LEAST[name]) if name in LEAST else None
    help += f"  [default: {DEFAULTS[name]}]" if name in DEFAULTS else ""
    return click.option(*flags, type=kind, metavar=None if name in CHOICES else metavar, help=help)


TRAINING = (
    click.option("--dev", metavar="FILE", help="Held-out data: scored after each step, the best step is kept."),
    setting("--select", help="What --dev decides by: F1 or accuracy, or the likelihood; last: nothing, the last step is kept."),
    setting("--patience", help="Stop after N steps without a better score on --dev."),
    setting("--passes", help="Most steps: passes, or iterations of a batch method."),
    click.option("--max-passes", type=NUMBER, metavar="X", help="Largest number of effective passes over the data."),
    click.option("--max-seconds", type=NUMBER, metavar="X", help="Longest time for optimisation."),
    click.option(
        "--tol",
        type=click.FloatRange(min=0),
        metavar="X",
        help="Stop when the distance from the optimum, over the objective, is proved to be X or less; 0: never.  [default: 0.001]",
    ),
    setting("-j", "--threads", help="Threads."),
    setting("--seed", help="Seed of everything random."),
    setting("--encoding", metavar="NAME", help="Encoding of the text."),
    click.option("--log", metavar="FILE", help="Write a JSON line for the start, each step and the end."),
    click.option("--trace", is_flag=True, help="Compute the exact objective after each step (not counted in seconds or passes)."),
    click.option("-q", "--quiet", is_flag=True, help="Print errors only."),
    click.option("-v", "--verbose", is_flag=True, help="A line for each step."),
)


def training_options(command):
    """The command with the options that all commands that train a model have."""
    for option in reversed(TRAINING):
        command = option(command)
    return command


def _click_option(option):
    """A flag out of an algorithm's declaration of an option."""
    flags = [option.flag]
    shown: dict = {"type": Parsed(option.kind.__name__, option.parse), "metavar": None}
    if option.choices:
        shown["metavar"] = "[" + "|".join(option.choices) + "]"
    if option.kind is bool:
        flags, shown = [f"{option.flag}/--no-{option.flag[2:]}"], {}
    return click.Option([*flags, option.name], default=option.default, help=option.help, show_default=True, **shown)


def _setting(algorithm):
    """-p for whoever lists or completes the options; in what is parsed it has been replaced."""
    names = Word(lambda: [f"{option.name}=" for option in algorithm.options])
    return click.Option(
        ["-p", "setting"], metavar="NAME=VALUE", multiple=True, expose_value=False, type=names, help="An option, as CRFsuite takes it."
    )


def all_options():
    """The options of all algorithms, one of each name."""
    return {option.name: option for name in optimizers.names() for option in optimizers.get(name).options}.values()


class AlgorithmCommand(Command):
    """A command that trains has the options of the algorithm that -a names, and no others."""

    def parse_args(self, ctx, args):
        if ctx.resilient_parsing:
            ctx.meta["algorithm"] = optimizers.get(DEFAULT_ALGORITHM)
            with contextlib.suppress(click.UsageError):
                ctx.meta["algorithm"] = algorithm_named(_value_of(args, ("-a", "--algorithm")) or self.default(args), ctx)
        return super().parse_args(ctx, args)

    def preset(self, ctx, args):
        """Options of the command, then those of the algorithm that is found by them."""
        params = [*self.params, *map(_click_option, all_options())]
        settings = presets.read(ctx, args, {presets.long_name(param) for param in params} - {None})
        args = presets.arguments(ctx, settings, self.params, args) + args
        algorithm = ctx.meta["algorithm"] = algorithm_named(_value_of(args, ("-a", "--algorithm")) or self.default(args), ctx)
        return presets.arguments(ctx, settings, map(_click_option, algorithm.options), args) + self._long_flags(ctx, args)

    def explain(self, flag):
        able = [name for name in optimizers.names() if any(option.flag == flag for option in optimizers.get(name).options)]
        return [f"It is an option of -a {', '.join(able)}.", *super().explain(flag)] if able else super().explain(flag)

    @staticmethod
    def default(args):
        """The name of the algorithm where -a names none."""
        return DEFAULT_ALGORITHM

    def get_params(self, ctx):
        algorithm = ctx.meta.get("algorithm") or algorithm_named(DEFAULT_ALGORITHM, ctx)
        return [*self.params, _setting(algorithm), *map(_click_option, algorithm.options), self.get_help_option(ctx)]

    def format_options(self, ctx, formatter):
        """The common options, then the algorithm's under its own heading."""
        own = {option.name for option in ctx.meta["algorithm"].options}
        groups = {"Options": [], f"Options of {ctx.meta['algorithm'].name}": []}
        for param in self.get_params(ctx):
            if isinstance(param, click.Option) and (record := param.get_help_record(ctx)) is not None:
                groups["Options" if param.name not in own else f"Options of {ctx.meta['algorithm'].name}"].append(record)
        for title, records in groups.items():
            if records:
                with formatter.section(title):
                    formatter.write_dl(records)

    def _long_flags(self, ctx, args):
        """-p NAME=VALUE, as CRFsuite has it, becomes --name=VALUE."""
        out, rest = [], iter(args)
        for arg in rest:
            if arg == "--":
                out += [arg, *rest]
            elif (short := re.match("-([qh]*)p(.*)", arg)) is not None:
                out += ["-" + short[1]] if short[1] else []
                setting = short[2] or next(rest, "")
                name, equals, value = setting.partition("=")
                if not equals:
                    raise click.UsageError(f"-p {setting}: expected NAME=VALUE; threads are --threads N, patterns -t FILE", ctx)
                out.append(self._long_flag(ctx, name.strip(), value))
            else:
                out.append(arg)
        return out

    def _long_flag(self, ctx, name, value):
        option = ctx.meta["algorithm"].option(name.replace("-", "_"))
        flag = "--" + name.replace("_", "-").replace(".", "-")
        if option is None or option.kind is not bool:
            return f"{flag}={value}"
        try:
            return flag if option.parse(value) else f"--no-{flag[2:]}"
        except ValueError as error:
            raise click.UsageError(f"-p {name}: {error}", ctx) from None


class UpdateCommand(AlgorithmCommand):
    """`update` can do with new sentences alone if the algorithm can."""

    HELP = f"Training algorithm; `crftrain algorithms` lists them.  [default: {DEFAULT_ONLINE}; {DEFAULT_ALGORITHM} with --replay]"

    @staticmethod
    def default(args):
        return DEFAULT_ALGORITHM if any(arg.startswith("--replay") for arg in args) else DEFAULT_ONLINE


def _value_of(args, flags):
    """What the last of an option's occurrences says, before click parses anything; None if there is none."""
    value = None
    for i, arg in enumerate(args):
        if arg == "--":
            break
        if arg in flags:
            value = args[i + 1] if i + 1 < len(args) else value
        elif arg.startswith("--algorithm="):
            value = arg.partition("=")[2]
        elif (short := re.match("-[qh]*a(.*)", arg)) is not None:  # also after flags: -qa NAME
            value = short[1].removeprefix("=") or (args[i + 1] if i + 1 < len(args) else value)
    return value


def algorithm_named(name, ctx):
    try:
        return optimizers.get(name)
    except KeyError:
        told = f"; {migrants.ALGORITHMS[name]}" if name in migrants.ALGORITHMS else ""
        raise click.UsageError(f"no algorithm is called {name!r}, expected one of {', '.join(optimizers.names())}{told}", ctx) from None


def asked(ctx, **settings):
    """Settings that can be done; else wrong usage, told in the words of the command."""
    flags = {param.name: max(param.opts, key=len) for param in ctx.command.params if isinstance(param, click.Option)}
    (paths,) = (param for param in ctx.command.params if isinstance(param, click.Argument) and param.nargs == -1)
    flags["paths"] = paths.name.upper()
    settings = Settings(**settings)
    for refusal in settings.refusals(lambda name: flags.get(name) or name.upper()):
        raise click.UsageError(refusal, ctx)
    inputs((*settings.paths, settings.dev))
    return settings
