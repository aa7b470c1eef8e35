"""What settings may be: strengths, options of an algorithm, whole and other numbers."""

import math
import operator

from .strength import Strength

MOST_WORKERS = 1024  # of this machine


def strengths(value):
    """A tuple of Strength; the value itself where it is none, for the refusal."""
    if value is None:
        return None
    try:
        return Strength.several(value)
    except (ValueError, TypeError):
        return value


def any_above(strengths):
    return isinstance(strengths, tuple) and any(strength.number for strength in strengths)


def parsed(algorithm, given):
    """The algorithm's options with the defaults; what cannot be parsed stays as it is, for the refusal."""
    options = algorithm.defaults()
    for name, value in given.items():
        option = algorithm.option(name)
        try:
            options[name] = value if option is None else option.parse(value)
        except ValueError:
            options[name] = value
    return options


def odd_options(algorithm, options):
    for name, value in options.items():
        option = algorithm.option(name)
        if option is None:
            known = ", ".join(option.name for option in algorithm.options) or "none"
            yield f"{algorithm.name} has no option {name!r}, expected one of {known}"
            continue
        try:
            option.parse(value)
        except ValueError as error:
            yield f"{name}: {error}"


def is_whole(value):
    if isinstance(value, bool):
        return False
    try:
        return operator.index(value) is not None
    except TypeError:
        return False


def at_least(value, least, *, without=False):
    try:
        number = float(value)
    except (TypeError, ValueError):
        return False
    return math.isfinite(number) and (number > least if without else number >= least)


def odd_workers(value, called):
    """What is wrong with where the workers are."""
    if isinstance(value, str):
        if not (value.startswith(("tcp://", "tls://")) or value.endswith(".json")):
            yield f"{called} {value!r}, expected a number of processes, tcp://HOST:PORT, tls://HOST:PORT or the .json file of a scheduler"
    elif not (is_whole(value) and 1 <= value <= MOST_WORKERS):
        yield f"{called} {value!r}, expected 1 to {MOST_WORKERS} processes"
