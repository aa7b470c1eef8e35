"""Options from a file and from the environment. They are put before those that were typed, and the last one counts.

    --config run.toml     lambda = "1/n"        options by their long names; a list for one that may be repeated
                          [learn]               and those of one command in a table of its name
                          passes = 20
    CRFTRAIN_THREADS=2    the option --threads of every command that has it

So flags come before the environment, that before the file, that before the defaults.
"""

import os

import click

PREFIX = "CRFTRAIN_"
CONFIG = click.Option(["--config"], metavar="FILE", expose_value=False, help="Options from a TOML file, by their long names.")
YES, NO = {"1", "true", "yes", "on"}, {"", "0", "false", "no", "off"}


def read(ctx, args, known):
    """{option: value} of the file that --config names, then of the environment; an option that `known` lacks is wrong usage in a file."""
    path = typed(args, "--config")
    settings = {} if path is None else _of_file(ctx, path)
    if odd := sorted(settings.keys() - known):
        raise click.UsageError(f"{path}: {ctx.command.name} has no option {odd[0]!r}", ctx)
    for name in known:
        if (value := os.environ.get(PREFIX + name.upper().replace("-", "_"))) is not None:
            settings[name] = value
    return settings


def arguments(ctx, settings, params, args):
    """The settings as they would be typed, as far as they are options among params; what may be repeated yields to args."""
    out = []
    for param in params:
        name = long_name(param)
        if name is None or name not in settings or (param.multiple and any(map(_typed(args), param.opts))):
            continue
        value = settings[name]
        if param.is_flag:
            out += _switch(ctx, param, value)
        else:
            values = value if isinstance(value, list) else [value]
            values = values if param.multiple else [",".join(map(str, values))]
            out += [f"--{name}={value}" for value in values]
    return out


def long_name(param):
    """What a file calls an option; None for what cannot be preset."""
    if not isinstance(param, click.Option) or param.is_eager or param.name == "config":
        return None
    return max(param.opts, key=len).removeprefix("--")


def typed(args, flag):
    """The value that follows a long flag, the last one if there are several."""
    value = None
    for arg, following in zip(args, [*args[1:], None], strict=False):
        if arg == "--":
            break
        if arg == flag:
            value = following
        elif arg.startswith(f"{flag}="):
            value = arg.partition("=")[2]
    return value


def _typed(args):
    return lambda flag: any(arg == flag or arg.startswith(f"{flag}=" if flag.startswith("--") else flag) for arg in args)


def _switch(ctx, param, value):
    said = str(value).lower()
    if said not in YES | NO:
        raise click.UsageError(f"{long_name(param)} = {value!r}, expected true or false", ctx)
    return param.opts[-1:] if said in YES else param.secondary_opts[-1:]


def _of_file(ctx, path):
    """The tables of a file, flattened for one command."""
    toml = _toml(path)
    try:
        with open(path, encoding="utf-8") as file:
            data = toml.loads(file.read())
    except (OSError, ValueError) as error:  # TOML's own errors are ValueErrors
        raise click.UsageError(f"--config {path}: {getattr(error, 'strerror', None) or error}", ctx) from None
    own = {key: value for key, value in data.items() if not isinstance(value, dict)}
    return {key.replace("_", "-"): value for key, value in {**own, **data.get(ctx.command.name, {})}.items()}


def _toml(path):
    try:
        import tomllib
    except ImportError:  # Python 3.10
        try:
            import tomli as tomllib  # type: ignore[no-redef]
        except ImportError:
            raise click.UsageError(f"--config {path}: Python before 3.11 reads it with a package (pip install tomli)") from None
    return tomllib
