"""--workers: where the commands that take it find processes to work with."""

import click

WHERE = "N|ADDRESS|FILE.json"


class Where(click.ParamType):
    """A number of processes, or a text that says where a scheduler is."""

    name = WHERE

    def convert(self, value, param, ctx):
        return int(value) if isinstance(value, str) and value.lstrip("-").isdecimal() else value


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
