"""What commands share: options, input and output."""

import sys

import click


def column_option(name, default, help):
    return click.option(name, type=int, default=default, show_default=True, help=help)


def write_lines(lines):
    for line in lines:
        sys.stdout.write((line.decode() if isinstance(line, bytes) else line) + "\n")
