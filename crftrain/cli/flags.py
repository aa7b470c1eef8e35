"""What the commands that train share: the flags of the algorithm that -a names, strengths, and a line for each step."""

import contextlib
import os
import re
import signal
import sys
from itertools import product

import click
from click.core import ParameterSource

from .. import optimizers
from ..training.loop import StopSignal
from ..training.strength import Strength
from . import migrants, presets
from .base import Command
from .completion import Word

DEFAULT_ALGORITHM = "sag"
DEFAULT_ONLINE = "psa"  # for new sentences alone
DEFAULT_FOR_L1 = "owlqn"  # the first to reach any objective that is near the optimum


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


TRAINING = (
    click.option("--dev", metavar="FILE", help="Held-out data: scored after each step, the best step is kept."),
    click.option(
        "--select",
        type=click.Choice(["score", "likelihood"]),
        default="score",
        show_default=True,
        help="What --dev decides by: F1 or accuracy, or the likelihood.",
    ),
    click.option("--patience", type=click.IntRange(min=1), metavar="N", help="Stop after N steps without a better score on --dev."),
    click.option("--passes", type=click.IntRange(min=1), metavar="N", help="Most steps: passes, or iterations of a batch method."),
    click.option("--max-passes", type=NUMBER, metavar="X", help="Largest number of effective passes over the data."),
    click.option("--max-seconds", type=NUMBER, metavar="X", help="Longest time for optimisation."),
    click.option(
        "--tol", type=click.FloatRange(min=0), metavar="X", help="Stop when the gap is at most X times the gap at zero weights; 0: never."
    ),
    click.option("-j", "--threads", type=click.IntRange(min=1), default=1, show_default=True, metavar="N", help="Threads."),
    click.option("--seed", type=click.IntRange(min=0), default=1, show_default=True, help="Seed of everything random."),
    click.option("--encoding", default="utf-8", show_default=True, help="Encoding of the text."),
    click.option("--log", metavar="FILE", help="Write a JSON line for the start, each step and the end."),
    click.option("--trace", is_flag=True, help="Compute the exact objective after each step (not counted in seconds or passes)."),
    click.option("-q", "--quiet", is_flag=True, help="Print errors only."),
)


def training_options(command):
    """The command with the options that all commands that train a model have."""
    for option in reversed(TRAINING):
        command = option(command)
    return command


def _click_option(option):
    """A flag out of an algorithm's declaration of an option."""
    flags, shown = [option.flag], {"type": Parsed(option.kind.__name__, option.parse), "metavar": None}
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
        return default_algorithm(args)

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


def default_algorithm(args):
    """The algorithm where -a names none: --l1 above 0 needs one that can."""
    given = [re.match("(?:--|-[qh]*p *)?l1=(.*)", arg) for arg in args]
    texts = [match[1] for match in given if match] + [args[i + 1] for i, arg in enumerate(args[:-1]) if arg == "--l1"]
    return DEFAULT_FOR_L1 if any(re.search("[1-9]", text.split("/")[0]) for text in ",".join(texts).split(",")) else DEFAULT_ALGORITHM


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


def strengths(ctx, algorithm, lambdas, l1s):
    """The lists of strengths, checked against what the algorithm solves."""
    if lambdas is None:
        none = "l2" not in algorithm.solves or any(l1.number for l1 in l1s or ())
        lambdas = (Strength(0.0),) if none else (Strength(1.0, True),)
    l1s = l1s or (Strength(0.0),)
    if len(lambdas) > 1 and len(l1s) > 1:
        raise click.UsageError("--lambda and --l1 cannot both be lists", ctx)
    for l2, l1 in product(lambdas, l1s):
        if reason := optimizers.refusal(algorithm, l2.number, l1.number):
            raise click.UsageError(reason, ctx)
    return lambdas, l1s


STREAMED = {"algorithm", "model", "template", "lambdas", "l1s", "seed", "format", "label_column", "encoding", "log", "quiet"}
OF_STREAMS = {"stream", "save_every", "n_hint"}


def check_stream(ctx, algorithm, stream, lambdas, l1s):
    """Refuse what a stream cannot do, and a stream's options without one."""
    given = [param for param in ctx.command.params if ctx.get_parameter_source(param.name) is ParameterSource.COMMANDLINE]
    flags = {param.name: max(param.opts, key=len) for param in given if isinstance(param, click.Option)}
    if not stream:
        if odd := OF_STREAMS & flags.keys():
            raise click.UsageError(f"{flags[min(odd)]} needs --stream", ctx)
        return
    if not algorithm.streams:
        able = ", ".join(name for name in optimizers.names() if optimizers.get(name).streams)
        raise click.UsageError(f"{algorithm.name} cannot learn from a stream; these can: {able}", ctx)
    if odd := flags.keys() - STREAMED - OF_STREAMS:
        raise click.UsageError(f"{flags[min(odd)]} is not for a stream", ctx)
    if len(lambdas) * len(l1s) > 1:
        raise click.UsageError("a stream takes one strength, not a list", ctx)
    if any(strength.per_sequence for strength in (*lambdas, *l1s)) and ctx.params["n_hint"] is None:
        flag, strength = ("--lambda", lambdas[0]) if lambdas[0].per_sequence else ("--l1", l1s[0])
        raise click.UsageError(f"{flag} {strength} of a stream needs --n-hint N, or a number instead", ctx)


class ProgressLine:
    """A monitor that shows each step: one line that changes on a terminal, else a plain line each."""

    def __init__(self, step_name):
        self.step_name, self.bar = step_name, None

    def __call__(self, progress):
        step = progress.step
        text = f"{self.step_name} {progress.iteration}  objective {'' if step.exact else '~'}{step.objective:.6f}  gap {step.gap:.2e}"
        if progress.dev:
            name = "f1" if "f1" in progress.dev else "accuracy"
            text += f"  dev {name} {progress.dev[name]:.2f}"
        text += f"  {progress.passes:.1f} passes  {progress.seconds:.1f} s" + (f"  {step.note}" if step.note else "")
        if sys.stderr.isatty():
            self._show(text)
        else:
            click.echo(text, err=True)

    def _show(self, text):
        from tqdm import tqdm

        if self.bar is None:
            self.bar = tqdm(bar_format="{desc}", file=sys.stderr, leave=True)
        self.bar.set_description_str(text)

    def close(self):
        if self.bar is not None:
            self.bar.close()


def say_now(text):
    """For signal handlers: Python's stderr refuses a second write while it is in the middle of one."""
    with contextlib.suppress(OSError):
        os.write(sys.stderr.fileno(), f"{text}\n".encode())


def run_training(ctx, run, settings, quiet):
    """run(settings, say=..., watch=..., stop=...) under signals, with messages and an exit status."""
    for needs_dev in ("patience", "select"):
        if ctx.get_parameter_source(needs_dev) is ParameterSource.COMMANDLINE and not settings.dev:
            raise click.UsageError(f"--{needs_dev} needs --dev", ctx)
    say = (lambda text: None) if quiet else (lambda text: click.echo(text, err=True))
    if settings.algorithm.name == DEFAULT_FOR_L1 and ctx.get_parameter_source("algorithm") is not ParameterSource.COMMANDLINE:
        say(f"algorithm: {settings.algorithm.name}, chosen for --l1 (-a chooses another)")
    watch = (lambda step_name: ()) if quiet else (lambda step_name: (ProgressLine(step_name),))
    with StopSignal(None if quiet else say_now) as stop:
        try:
            outcome = run(settings, say=say, watch=watch, stop=stop)
        except KeyboardInterrupt:
            ctx.exit(128 + (stop.number or signal.SIGINT))
    if outcome is not None:
        say(f"{settings.model}: {outcome.model_bytes:,} bytes")
    if stop.number is not None:
        ctx.exit(128 + stop.number)
