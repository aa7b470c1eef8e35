"""What the commands that train share: the flags of the algorithm that -a names, strengths, and a line for each step."""

import re
import sys

import click

from . import optimizers
from .strength import Strength

DEFAULT_ALGORITHM = "sag"
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


STRENGTHS = Parsed("X[,X...]", Strength.parse_list)
NUMBER = click.FloatRange(min=0, min_open=True)


def _click_option(option):
    """A flag out of an algorithm's declaration of an option."""
    flags, shown = [option.flag], {"type": Parsed(option.kind.__name__, option.parse), "metavar": None}
    if option.choices:
        shown["metavar"] = "[" + "|".join(option.choices) + "]"
    if option.kind is bool:
        flags, shown = [f"{option.flag}/--no-{option.flag[2:]}"], {}
    return click.Option([*flags, option.name], default=option.default, help=option.help, show_default=True, **shown)


class AlgorithmCommand(click.Command):
    """A command that trains has the options of the algorithm that -a names, and no others."""

    def parse_args(self, ctx, args):
        ctx.meta["algorithm"] = algorithm_named(_value_of(args, ("-a", "--algorithm")) or default_algorithm(args), ctx)
        return super().parse_args(ctx, self._long_flags(ctx, args))

    def get_params(self, ctx):
        algorithm = ctx.meta.get("algorithm") or algorithm_named(DEFAULT_ALGORITHM, ctx)
        return [*self.params, *map(_click_option, algorithm.options), self.get_help_option(ctx)]

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
                    raise click.UsageError(f"-p {setting}: expected NAME=VALUE", ctx)
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
        raise click.UsageError(f"no algorithm is called {name!r}, expected one of {', '.join(optimizers.names())}", ctx) from None


def strengths(ctx, algorithm, lambdas, l1s):
    """The lists of strengths, checked against what the algorithm solves."""
    if lambdas is None:
        lambdas = (Strength(0.0),) if l1s and any(l1.number for l1 in l1s) else (Strength(1.0, True),)
    l1s = l1s or (Strength(0.0),)
    if len(lambdas) > 1 and len(l1s) > 1:
        raise click.UsageError("--lambda and --l1 cannot both be lists", ctx)
    if any(l1.number for l1 in l1s) and "l1" not in algorithm.solves:
        able = [name for name in optimizers.names() if "l1" in optimizers.get(name).solves]
        raise click.UsageError(f"{algorithm.name} cannot solve --l1" + (f"; these can: {', '.join(able)}" if able else ""), ctx)
    if any(not l2.number for l2 in lambdas) and not algorithm.solves & {"no-l2"}:
        raise click.UsageError(f"{algorithm.name} needs --lambda above 0", ctx)
    return lambdas, l1s


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
