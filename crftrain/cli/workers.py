"""--workers: where the commands that take it find processes to work with."""

import os

import click

from ..errors import DataError
from ..training.values import odd_workers
from ..whole import os_errors, replace
from .base import spare

WHERE = "N|ADDRESS|FILE.json"


class Where(click.ParamType):
    """A number of processes, or a text that says where a scheduler is."""

    name = WHERE

    def convert(self, value, param, ctx):
        if not isinstance(value, str) or not value.lstrip("-").isdecimal():
            return value
        try:
            return int(value)
        except ValueError:  # Python counts digits
            self.fail(f"a number of {len(value)} digits", param, ctx)


def workers_option(help):
    return click.option("--workers", type=Where(), metavar=WHERE, help=help)


def working(run, settings):
    """A training on the workers that its settings ask for, which are there before anything is read."""
    from ..cluster.cluster import connect, needed

    needed()

    def run_on_workers(settings, observer):
        with connect(settings.workers, threads=settings.threads, timeout=settings.worker_timeout) as cluster:
            return run(settings, observer, cluster=cluster)

    return run_on_workers


def tag_apart(ctx, workers, out, model, paths):
    """Each of the files, and those of folders, tagged by a command of its own on a worker, with the options of this one."""
    from ..cluster.cluster import connect, needed
    from ..cluster.commands import each

    if workers is None or out is None or not paths or "-" in paths:
        raise click.UsageError("--workers N and --out DIR go together, with files or folders", ctx)
    for refusal in odd_workers(workers, "--workers"):
        raise click.UsageError(refusal, ctx)
    needed()
    files = list(_files(paths))
    targets = [os.path.join(out, name) for name, _ in files]
    if twice := {target for target in targets if targets.count(target) > 1}:
        raise click.UsageError(f"two files would be written to {min(twice)}", ctx)
    spare(ctx, targets, [model, *(path for _, path in files)])
    options, failed = _options(ctx), 0
    with connect(workers) as cluster:
        (model,) = cluster.paths([model])
        commands = [["tag", *options, "--", model, *cluster.paths([path])] for _, path in files]
        for target, (status, written, told) in zip(targets, each(cluster, commands), strict=True):
            click.echo(told.decode(errors="replace"), err=True, nl=False)
            failed += status != 0
            if status == 0 or written:
                with os_errors(target, "cannot be written"):
                    os.makedirs(os.path.dirname(target), exist_ok=True)
                    replace(target, [written])
    click.echo(f"{out}: {len(files) - failed:,} of {len(files):,} files", err=True)
    if failed:
        ctx.exit(1)


def _files(paths):
    """(name to write, path): files, and all that is in folders, in order."""
    for path in paths:
        if not os.path.exists(path):
            raise DataError(path, "cannot be read: No such file or directory")
        if not os.path.isdir(path):
            yield os.path.basename(path), path
        for folder, inner, names in os.walk(path):
            inner.sort()
            for name in sorted(names):
                yield os.path.relpath(os.path.join(folder, name), path), os.path.join(folder, name)


def _options(ctx):
    """What was asked for as words of a command, but for where it runs."""
    words = []
    for param in ctx.command.params:
        value = ctx.params.get(param.name)
        source = ctx.get_parameter_source(param.name)
        if not isinstance(param, click.Option) or param.name in ("workers", "out") or source is None or source.name == "DEFAULT":
            continue
        if param.is_flag:
            words += [max(param.opts, key=len)] if value else []
        else:
            words += [f"{max(param.opts, key=len)}={one}" for one in (value if param.multiple else [value])]
    return words
