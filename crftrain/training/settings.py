"""What a training is asked for: the defaults, and the one list of what is refused before a byte of data is read.

    settings = Settings(algorithm="lbfgs", l1s="1/n", dev="dev.txt")      what is not given is filled in; nothing is refused yet
    settings.check()                                                     SettingsError, a ValueError, if it cannot be done

A command shows a refusal with its own name for each setting, `refusals(named=...)`, and ends with status 2. None is "not given"
for every setting.
"""

import os
import re
from dataclasses import dataclass, fields
from itertools import product
from pathlib import Path
from typing import Any

from .. import optimizers
from ..errors import SettingsError
from ..optimizers.base import Algorithm
from ..text.conllu import fields as conllu_fields
from ..text.dialect import DIALECTS
from ..text.forms import CHOICES as FORMATS
from ..text.forms import Form, in_scheme
from ..text.legal import SCHEMES as LEGAL_SCHEMES
from ..text.schemes import SCHEMES
from ..text.template import builtin_names
from .overwriting import OUTPUTS, overwritten
from .strength import Strength
from .values import any_above, at_least, is_whole, odd_options, odd_workers, parsed, strengths

DEFAULT_ALGORITHM = "auto"
DEFAULT_ONLINE = "psa"  # for new sentences alone

DEFAULTS = {
    "select": "score",
    "threads": 1,
    "seed": 1,
    "features": "observed",
    "transitions": "auto",
    "min_freq": 0,
    "format": "auto",
    "encoding": "utf-8",
    "label_column": -1,
    "trace": False,
    "checkpoint_every": 10,
    "stream": False,
    "save_every": 100_000,
    "on_illegal": "error",
}
CHOICES = {
    "select": ("score", "likelihood", "last"),
    "features": ("observed", "full"),
    "transitions": ("auto", "full", "observed"),
    "format": FORMATS,
    "scheme": SCHEMES,
    "dialect": tuple(DIALECTS),
    "on_illegal": ("error", "fix", "drop"),
}
LEAST = {  # whole numbers
    "patience": 1,
    "passes": 1,
    "threads": 1,
    "shards": 1,
    "worker_timeout": 1,
    "seed": 0,
    "min_freq": 0,
    "folds": 2,
    "repeat": 2,
    "checkpoint_every": 1,
    "save_every": 1,
    "n_hint": 1,
}
MOST = {"threads": 1024, "shards": 4096, "seed": 2**63 - 1, "n_hint": 2**53}  # of them; 2^31 - 1 of the others
STREAMED = {"paths", "algorithm", "options", "model", "template", "lambdas", "l1s", "seed", "format", "label_column", "encoding", "log"}
STREAMED |= {"fields", "comments", "tabs", "scheme", "dialect"}
OF_STREAMS = {"stream", "save_every", "n_hint"}
OF_RACES = ("runs.jsonl", "summary.tsv", "optimum-*.json", "*.svg", "*.png", "race.html")  # what they write into their folder
INPUTS = ("paths", "dev", "calibrate", "test", "init", "replay", "resume", "template")


def keyword(name):
    """How the library calls a setting."""
    return name


@dataclass(frozen=True)
class Settings:
    """Everything a training was asked for, and what was not given filled in."""

    paths: tuple = ()
    algorithm: Any = None  # an Algorithm; a name becomes the declaration
    options: dict | None = None  # the algorithm's own
    model: str | None = None  # where it is written
    template: object = None
    template_search: bool = False  # its lines are those that are worth having, of it and the built-in ones
    lambdas: Any = None  # of Strength, or anything that Strength.list understands
    l1s: Any = None
    dev: str | None = None
    calibrate: str | None = None  # held-out data by which a temperature for probabilities is found
    select: str | None = None
    patience: int | None = None
    passes: int | None = None  # None: the algorithm's own limit
    max_passes: float | None = None
    max_seconds: float | None = None
    tol: float | None = None  # None: the algorithm's own
    threads: int | None = None
    shards: int | None = None  # runs of sequences with numbers of their own, each summed for itself
    workers: int | str | None = None  # processes to start here, or where a scheduler of Dask is; the data are in as many shards
    ship: bool | None = None  # what workers sum over is read here and sent
    worker_timeout: float | None = None  # seconds of silence after which a worker counts as dead
    seed: int | None = None
    features: str | None = None
    transitions: str | None = None
    min_freq: int | None = None
    format: str | None = None
    fields: str | None = None  # of CoNLL-U or JSON lines that are columns, the label last
    comments: tuple = ()  # what lines of columns begin with that are skipped
    tabs: bool = False  # columns are parted by tabs alone
    scheme: str | None = None  # the labels are learnt in this one
    dialect: str | None = None  # of the template
    encoding: str | None = None
    label_column: int | None = None
    constrain: str | None = None  # the scheme that labellings keep to, "auto", or None
    forbid: tuple = ()  # pairs of labels that are not legal, as Legal.of has them
    allow: tuple = ()  # and those that are, whatever the scheme says
    on_illegal: str | None = None
    folds: int | None = None
    repeat: int | None = None  # the same with other seeds, or ways of dealing out
    folds_out: str | None = None
    group_by: str | None = None  # "file", "document", or a column's number
    trace: bool | None = None
    log: str | None = None
    report: str | None = None  # a page about the run
    init: str | None = None
    checkpoint: str | None = None
    checkpoint_every: int | None = None
    resume: str | None = None
    stream: bool | None = None
    save_every: int | None = None
    n_hint: int | None = None
    update: bool = False  # go on with the model `init`, whose strengths hold where none are given
    replay: tuple = ()
    test: str | None = None  # of races
    out: str | None = None  # their folder
    given: frozenset | None = None  # the names of what was given

    def __post_init__(self):
        if self.given is None:
            names = (field.name for field in fields(self) if field.name != "given")
            self._fill(given=frozenset(name for name in names if not _is_missing(getattr(self, name))))
        self._fill(**{name: value for name, value in DEFAULTS.items() if getattr(self, name) is None})
        self._fill(**{name: strengths(getattr(self, name)) for name in ("lambdas", "l1s")})
        self._fill(algorithm=self._declared(self.algorithm or self._default_algorithm()))
        if isinstance(self.algorithm, Algorithm):
            self._fill(options=parsed(self.algorithm, self.options or {}))
            if self.update and self.algorithm.online and self.passes is None:
                self._fill(passes=1)
        if self.update:
            self._fill(lambdas=self.lambdas or (), l1s=self.l1s or ())
        elif self.lambdas is None:
            without = isinstance(self.algorithm, Algorithm) and "l2" not in self.algorithm.solves
            self._fill(lambdas=(Strength(0.0) if without or any_above(self.l1s) else Strength(1.0, True),))
        if self.l1s is None:
            self._fill(l1s=(Strength(0.0),))

    def _fill(self, **values):
        vars(self).update(values)

    def _default_algorithm(self):
        if self.update:
            return DEFAULT_ALGORITHM if self.replay else DEFAULT_ONLINE
        return DEFAULT_ALGORITHM

    @staticmethod
    def _declared(algorithm):
        try:
            return optimizers.get(algorithm) if isinstance(algorithm, str) else algorithm
        except KeyError:
            return algorithm

    def __getstate__(self):
        """Declarations of algorithms hold functions; their names go anywhere."""
        return {**vars(self), "algorithm": self.algorithm.name}

    def __setstate__(self, state):
        vars(self).update(state, algorithm=self._declared(state["algorithm"]))

    @property
    def points(self):
        """The (lambda, l1) pairs of the path; at most one of the two is a list."""
        return list(product(self.lambdas, self.l1s))

    @property
    def rules(self):
        """What is legal, in the words of Legal.of; None: everything."""
        rules = {"scheme": self.constrain, "forbid": tuple(self.forbid), "allow": tuple(self.allow)}
        return rules if any(rules.values()) else None

    @property
    def searches(self):
        """Whether the strength is to be found."""
        return any(strength.auto for strength in (*self.lambdas, *self.l1s))

    @property
    def several(self):
        """Whether more than one strength is tried."""
        return len(self.points) > 1 or self.searches

    def check(self, named=keyword):
        """SettingsError for the first thing that cannot be done."""
        for refusal in self.refusals(named):
            raise SettingsError("", refusal)
        return self

    def refusals(self, named=keyword):
        """Why this cannot be done, one sentence each; a setting is called what named(its name) says."""
        wrong = [*self._odd_values(named)]
        yield from wrong
        if not wrong:  # the rest relies on the values
            yield from self.odd_form(named)
            yield from self._odd_together(named)
            yield from self._odd_algorithm()
            yield from self._odd_stream(named) if self.stream else self._stream_missing(named)
            yield from self._overwritten(named)

    def _odd_values(self, named):
        if not isinstance(self.algorithm, Algorithm):
            yield f"no algorithm is called {self.algorithm!r}, expected one of {', '.join(optimizers.names())}"
        else:
            yield from odd_options(self.algorithm, self.options)
        for name, least in LEAST.items():
            value = getattr(self, name)
            if value is not None and not (is_whole(value) and value >= least):
                yield f"{named(name)} {value!r}, expected a whole number >= {least}"
            elif value is not None and value > (most := MOST.get(name, 2**31 - 1)):
                yield f"{named(name)} {str(value)[:20]}.., expected a whole number <= {most}"
        for name in ("max_passes", "max_seconds"):
            if getattr(self, name) is not None and not at_least(getattr(self, name), 0, without=True):
                yield f"{named(name)} {getattr(self, name)!r}, expected a number > 0"
        if self.workers is not None:
            yield from odd_workers(self.workers, named("workers"))
        if self.constrain not in (None, *LEGAL_SCHEMES):
            yield f"{named('constrain')} {self.constrain!r}, expected one of {', '.join(LEGAL_SCHEMES)}"
        if self.tol is not None and not at_least(self.tol, 0):
            yield f"{named('tol')} {self.tol!r}, expected a number >= 0"
        for name, known in CHOICES.items():
            if getattr(self, name) not in (known if name in DEFAULTS else (None, *known)):
                yield f"{named(name)} {getattr(self, name)!r}, expected one of {', '.join(known)}"
        for name in ("lambdas", "l1s"):
            if not isinstance(getattr(self, name), tuple):
                yield f"{named(name)} {getattr(self, name)!r}, expected a number >= 0 or one divided by n, as in 0.01 or 1/n, or several"

    @property
    def vocabulary_format(self):
        """What attributes come of: columns, or items that have them."""
        return "items" if self.format == "items" else "conll"

    @property
    def form(self):
        """The Form of data that are not plain columns, or None."""
        if self.format == "items":
            return None
        if self.format not in ("auto", "conll"):
            form = Form(self.format, tuple((self.fields or "").split(",")) if self.fields else ())
        else:
            form = Form(comments=tuple(self.comments), tabs=self.tabs) if self.comments or self.tabs else None
        return in_scheme(form, self.scheme, self.label_column)

    def odd_form(self, named):
        """Refusals of what is said about data; those of a format that is found out are known later than the others."""
        other = self.format not in ("auto", "conll")
        if self.fields and self.format not in ("auto", "conllu", "jsonl"):
            yield f"{named('fields')} names fields of CoNLL-U or JSON lines, not of {named('format')} {self.format}"
        for name in ("comments", "tabs"):
            if getattr(self, name) and other:
                yield f"{named(name)} is for columns, not for {named('format')} {self.format}"
        if self.scheme and self.format == "items":
            yield f"{named('scheme')} is for labels of columns, not for {named('format')} items"
        if self.dialect and not self.template:
            yield f"{named('dialect')} needs {named('template')}"
        if self.fields and self.format == "conllu":
            try:
                conllu_fields(self.form)
            except ValueError as error:
                yield f"{named('fields')}: {error}"

    def _odd_together(self, named):
        several = len(self.points) > 1
        if self.searches:
            yield from self._odd_search(named)
        if "patience" in self.given and not self.dev:
            yield f"{named('patience')} needs {named('dev')}"
        if "select" in self.given and not (self.dev or self.folds or self.searches):
            yield f"{named('select')} needs {named('dev')} or {named('folds')}"
        if self.repeat and (not (self.dev or self.folds) or self.update or self.resume):
            yield f"{named('repeat')} needs {named('dev')} or {named('folds')}, and no {named('resume')}"
        if "on_illegal" in self.given and not self.rules:
            yield f"{named('on_illegal')} needs {named('constrain')}, {named('forbid')} or {named('allow')}"
        for name in ("worker_timeout", "ship"):
            if name in self.given and self.workers is None:
                yield f"{named(name)} needs {named('workers')}"
        if self.workers is not None and "-" in self.paths and not self.ship:
            yield f"{named('workers')} read files, each a part of them; standard input needs {named('ship')}"
        for name in ("folds_out", "group_by"):
            if name in self.given and not self.folds and not (name == "group_by" and self.searches):
                yield f"{named(name)} needs {named('folds')}"
        if self.group_by is not None and not re.fullmatch("file|document|-?[0-9]{1,9}", str(self.group_by)):
            yield f"{named('group_by')} {self.group_by}, expected file, document or the number of a column"
        if len(self.lambdas) > 1 and len(self.l1s) > 1:
            yield f"{named('lambdas')} and {named('l1s')} cannot both be lists"
        if self.template_search and (self.format == "items" or self.resume or self.update or self.stream or "-" in self.paths):
            yield f"{named('template_search')} reads columns from files, twice: no items, no standard input, no {named('resume')}"
        if self.template and self.format == "items":
            yield f"{named('format')} items has its attributes already: {named('template')} does not apply"
        if self.resume and (several or self.folds or self.init):
            yield f"{named('resume')} goes on with one training: no lists of strengths, no {named('folds')}, no {named('init')}"
        if self.update and not (self.algorithm.online or self.replay):
            yield (
                f"{self.algorithm.name} forgets what is not in its data: it needs {named('replay')} OLD; "
                f"these do not: {_able(lambda algorithm: algorithm.online)}"
            )

    def _odd_search(self, named):
        if len(self.points) > 1 or all(any(strength.auto for strength in strengths) for strengths in (self.lambdas, self.l1s)):
            yield f"auto is one strength to be found, of {named('lambdas')} or {named('l1s')}: not both, and no list"
        if self.dev and self.folds:
            yield f"auto is found by {named('dev')} or by {named('folds')}, not by both"
        for name in ("stream", "update", "out", "resume", "checkpoint"):
            if getattr(self, name):
                yield f"a strength is not found by itself with {named(name)}: a number instead of auto"

    def _odd_stream(self, named):
        for name in sorted(self.given - STREAMED - OF_STREAMS):
            yield f"{named(name)} is not for a stream"
        if len(self.points) > 1:
            yield "a stream takes one strength, not a list"
        elif self.n_hint is None:
            for name, (strength,) in (("lambdas", self.lambdas), ("l1s", self.l1s)):
                if strength.per_sequence:
                    yield f"{named(name)} {strength} of a stream needs {named('n_hint')} N, or a number instead"

    def _stream_missing(self, named):
        for name in sorted(self.given & OF_STREAMS):
            yield f"{named(name)} needs {named('stream')}"

    def _odd_algorithm(self):
        for l2, l1 in self.points:
            yield from self.algorithm.check(self.options, l2.number, l1.number, stream=self.stream)
        if self.rules and not self.algorithm.constrained:
            able = _able(lambda algorithm: algorithm.constrained)
            yield f"{self.algorithm.name} cannot learn over legal labellings alone; these can: {able}"
        if (self.shards or self.workers) and not self.algorithm.optimiser.shards:
            able = _able(lambda algorithm: algorithm.optimiser.shards)
            yield f"{self.algorithm.name} looks at single sequences, so its data are not cut into shards; these can: {able}"

    def _overwritten(self, named):
        """A model is updated in place, and a checkpoint replaced by the next one; nothing else that is read is written."""
        allowed = {("checkpoint", "resume")} | ({("model", "init")} if self.update else set())
        outputs = [(name, getattr(self, name)) for name in OUTPUTS if getattr(self, name)]
        outputs += [("out", path) for kind in OF_RACES for path in (Path(self.out).glob(kind) if self.out else ())]
        inputs = [(name, path) for name in INPUTS for path in _paths(getattr(self, name)) if path not in builtin_names()]
        yield from overwritten(outputs, inputs, allowed=allowed, named=named)


def _paths(value):
    """The files that a setting names; what is no path, as a template that is loaded already, is none."""
    several = value if isinstance(value, list | tuple) else (value,)
    return [path for path in several if isinstance(path, str | os.PathLike)]


def _able(able):
    return ", ".join(name for name in optimizers.names() if able(optimizers.get(name)))


def _is_missing(value):
    return value is None or value is False or (isinstance(value, tuple) and not value)
