"""Manual pages out of what the commands say of themselves: `python docs/generate.py man FOLDER` writes them.

roff(7) with the macros of man(7): .TH title, .SH section, .TP a term and its text; a line's first . or ' and every \\ and - are escaped.
"""

import re

import click

from .. import __version__


def pages(group, settings):
    """{"crftrain.1": text, "crftrain-learn.1": text, ...}"""
    found = {"crftrain.1": _page("crftrain", group, settings, [("COMMANDS", _commands(group))])}
    for name, command in sorted(group.commands.items()):
        found[f"crftrain-{name}.1"] = _page(f"crftrain-{name}", command, settings, [])
    return found


def _page(name, command, settings, more):
    words = name.replace("-", " ", 1)
    with click.Context(command, info_name=words, **settings) as ctx:
        summary = command.get_short_help_str(200).rstrip(".")
        usage = " ".join([words, *command.collect_usage_pieces(ctx)])
        options = [param.get_help_record(ctx) for param in command.get_params(ctx) if isinstance(param, click.Option) and not param.hidden]
        about = command.help or ""
    sections = [
        ("NAME", f"{_text(name)} \\- {_text(summary[:1].lower() + summary[1:])}"),
        ("SYNOPSIS", f"\\fB{_text(usage)}\\fR"),
        ("DESCRIPTION", _paragraphs(about)),
        ("OPTIONS", _terms(options)),
        *more,
        ("EXIT STATUS", "0 done, 1 bad data, model or numbers, 2 wrong usage, 130 and 143 after INT and TERM."),
        ("SEE ALSO", "" if name == "crftrain" else "\\fBcrftrain\\fR(1)"),
    ]
    head = f'.TH "{name.upper()}" 1 "" "crftrain {__version__}" "User commands"'
    return "\n".join([head, *(f".SH {title}\n{text}" for title, text in sections if text)]) + "\n"


def _commands(group):
    return _terms([(f"crftrain-{name}(1)", command.get_short_help_str(200)) for name, command in sorted(group.commands.items())])


def _terms(records):
    return "\n".join(f".TP\n\\fB{_text(term)}\\fR\n{_text(' '.join(text.split()))}" for term, text in records)


def _paragraphs(text):
    """Paragraphs; those that \\b begins, which holds click off them, keep their lines."""
    out = []
    for part in re.split(r"\n\s*\n", text.strip()):
        lines = [line.strip() for line in part.strip().split("\n")]
        if lines[0] == "\b":
            out += [".PP", ".nf", *map(_text, lines[1:]), ".fi"]
        else:
            out += [".PP", _text(" ".join(lines))]
    return "\n".join(out)


def _text(text):
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return "\\&" + text if text[:1] in (".", "'") else text
