"""Model + sentences -> labels, scores, marginals.

Where the most probable labels are asked for as columns, with their probabilities or not, a Run of whole sentences goes through compiled
code as bytes (_plain.pyx). Else, and for each sentence that this finds odd, sentences go through the decoder (stream.py).
"""

import contextlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from ..chain._sequences import Sequences
from ..errors import DataError, ModelError, TemplateError
from ..text.encode import Encoder
from ..text.read import Run, is_utf8
from ._plain import MOST_LABELS, Plain
from .query import Query, Sure

UNKNOWN = "?"  # in the place of a label of which nothing is known


@dataclass(frozen=True)
class Output:
    """What `tag` writes for a sentence."""

    labels_only: bool = False
    score: bool = False  # @probability TAB p before it
    marginals: str | None = None  # "best": label:probability, "all": every label's too
    query: Query = Query()  # how it is decoded; of several labellings each comes after @probability TAB p TAB its place
    known: bool = False  # the gold column has what is known: a label, A|B, or ? for nothing
    confidence: float | None = None  # chunks less probable than that are left out
    writer: Callable | None = None  # (sentence, labels, Sure) -> bytes (writers.py)


class Tagger:
    """A model at work on single sentences."""

    def __init__(self, model, *, gold="auto", output=Output(), encoding="utf-8", legal=None, once=None):
        self.items = model.vocabulary.format == "items"
        self.model, self.output, self.encoding = model, output, encoding  # a bare model will do
        self.legal = once.legal(legal) if once else legal
        self.once, self.unproved = once, 0  # sequences whose labels keep the rule and may not be the best that do
        try:
            self.encoder = Encoder(model.vocabulary, gold=gold)
        except (TemplateError, ValueError) as error:
            raise ModelError("", f"the model contradicts itself: {error}") from None
        self.labels = [label.encode() for label in model.vocabulary.labels]
        self._widths = {}  # source: what its first sentence says of its columns
        self.outside = model.vocabulary.labels.index("O") if "O" in model.vocabulary.labels else None

        if legal is not None and not once:  # compiled code knows the layout's rules
            model = self.model = replace(model, layout=replace(model.layout, legal=legal & model.layout.legal))
            self.legal = None
        self.plain = self.legal is None and is_utf8(encoding) and is_plain(model, output)
        self._idle = []  # Plain objects that no thread works with

    @cached_property
    def decoder(self):
        from ._decoder import Decoder

        return Decoder(self.layout, self.full.calibrated_w, self.legal)

    @property
    def layout(self):
        return self.full.layout

    @cached_property
    def full(self):
        """The model with arrays."""
        return self.model.arrays()

    @cached_property
    def rules(self):
        from .evaluate import chunk_rules

        return chunk_rules(self.model.vocabulary.labels)

    def tag_run(self, run, *, checked=True):
        """The output for a Run in compiled code; None where something is odd. checked: it is known to be UTF-8."""
        if not checked and not _is_text(run.text):
            return None
        try:
            width = self._width(run)
        except DataError:
            return None
        if width is None:
            return b""
        output = self.output
        if self._idle:
            plain = self._idle.pop()
        else:
            plain = Plain(self.model, labels_only=output.labels_only, score=output.score, marginals=output.marginals)
        text = plain.tag(run.text, *width)
        self._idle.append(plain)
        return text

    def _width(self, run):
        """What the encoder knows of the columns of the run's source; None where there is no sentence."""
        if run.source not in self._widths:
            first = next(run.sentences(), None)
            if first is None:
                return None
            self._widths[run.source] = self.encoder.width(first)
        return self._widths[run.source]

    def settle(self, piece):
        """What a source's first sentence settles for all of it, where several threads are to work on them."""
        with contextlib.suppress(DataError):  # which will come again, in order
            if isinstance(piece, Run):
                self._width(piece)
                return
            for sentence in piece:
                if sentence.source not in self._widths:
                    self._widths[sentence.source] = self.encoder.width(sentence)

    def tag(self, sentence):
        """The output for one sentence, an empty line at its end, as bytes."""
        return self.tag_all((sentence,))

    def tag_all(self, sentences):
        """The output for several, one after the other."""
        output, everything = self.output, sentences
        sentences = [sentence for sentence in sentences if sentence.lines]
        if not sentences:
            return b"".join(output.writer(sentence, [], Sure()) for sentence in everything) if output.writer else b""
        corpus, query = self.encoder.encode(sentences), self._query(sentences)
        decoded = self.decoder.decode(Sequences(corpus, self.layout), query)
        if decoded.impossible is not None and decoded.impossible.any():
            odd = sentences[int(decoded.impossible.argmax())]
            raise DataError(odd.place(), f"no labels for these {len(odd.lines)} tokens are legal", "rules and known labels that agree")
        if self.once:
            decoded = self._once(sentences, corpus, query, decoded)
        if output.confidence is not None:
            decoded = without_unsure(decoded, output.confidence, self.outside)
        if output.query.n > 1:
            return self._encoded(b"".join(self._ranked(sentences, decoded)))
        if output.writer:
            return self._encoded(b"".join(self._written(everything, decoded)))
        return self._encoded(b"\n".join([*self._columns(sentences, decoded), b""]))

    def _once(self, sentences, corpus, query, decoded):
        """The same with the best labels that keep the rule of one run."""
        labels = decoded.labels.copy()
        for i in range(len(sentences)):
            own = slice(corpus.seq[i], corpus.seq[i + 1])
            if self.once.broken(labels[own]) is None:
                continue
            known = np.ones((own.stop - own.start, len(self.labels)), bool) if query.known is None else query.known[own]
            found, proved, _ = self.once.search(self.decoder, Sequences(corpus.take(np.array([i])), self.layout), known)
            if found is None:
                raise DataError(sentences[i].place(), "no labels have one run of each at most", "rules and known labels that agree")
            labels[own] = found
            self.unproved += not proved
        return replace(decoded, labels=labels)

    def _query(self, sentences):
        """The query, and what the output has to say besides labels."""
        output = self.output
        return replace(
            output.query,
            probabilities=output.score,
            marginals=output.marginals is not None,
            known=self._known(sentences) if output.known else None,
            chunks=self.rules if output.confidence is not None or (output.score and output.writer) else None,
        )

    def _known(self, sentences):
        """bool[T, L]: what the gold column leaves open at each token."""
        number = {label.decode(): j for j, label in enumerate(self.labels)}
        known = np.zeros((sum(len(sentence.lines) for sentence in sentences), len(number)), bool)
        row = iter(known)
        for sentence in sentences:
            cells = self.encoder.gold_labels(sentence)
            if cells is None:
                raise DataError(sentence.place(), "no column of labels", f"what is known of each token: a label, A|B, or {UNKNOWN}")
            for t, (cell, own) in enumerate(zip(cells, row, strict=False)):
                names = [cell] if cell in number else cell.split("|")
                if cell != UNKNOWN and (odd := [name for name in names if name not in number]):
                    raise DataError(sentence.place(t), f"the label {odd[0]!r}", f"one of the model's, several as A|B, or {UNKNOWN}")
                own[[number[name] for name in names] if cell != UNKNOWN else slice(None)] = True
        return known

    def _columns(self, sentences, decoded):
        """Lines with the label appended, or the labels alone."""
        output, end = self.output, 0
        if decoded.marginals is None or output.marginals is None:
            results = [self.labels[j] for j in decoded.labels.tolist()]
        else:
            results = [self._with_marginals(j, p) for j, p in zip(decoded.labels, decoded.marginals, strict=True)]
        for i, sentence in enumerate(sentences):
            first, end = end, end + len(sentence.lines)
            if output.score:
                yield b"@probability\t%.6g" % np.exp(decoded.log_p[i])
            yield from results[first:end] if output.labels_only else self._joined(sentence, results[first:end])
            yield b""

    def _ranked(self, sentences, decoded):
        """Each labelling of a sentence after a line with its probability and its place."""
        from ._ranked import written

        for sentence, (scores, paths), log_z in zip(sentences, decoded.ranked, decoded.log_z.tolist(), strict=True):
            before = [b""] * len(sentence.lines) if self.output.labels_only else self._joined(sentence, [b""] * len(sentence.lines))
            yield written(before, paths, np.exp(scores - log_z).tolist(), self.labels)

    def _written(self, sentences, decoded):
        """The output for each sentence; those without tokens are only comments."""
        end, i, best = 0, 0, decoded.labels.tolist()
        chunks = None if decoded.chunks is None else {(first, end): p for first, end, p in zip(*map(list, decoded.chunks), strict=True)}
        for sentence in sentences:
            first, end = end, end + len(sentence.lines)
            asked = self.output.marginals is not None
            sure = Sure(
                gold=self.encoder.gold_labels(sentence) if asked and sentence.lines and self.encoder.has_gold(sentence) else None,
                labels=[float(decoded.marginals[t][best[t]]) for t in range(first, end)] if asked else None,
                every=self._every(decoded.marginals[first:end]) if self.output.marginals == "all" else None,
                whole=float(np.exp(decoded.log_p[i])) if self.output.score and sentence.lines else None,
                chunks=None if chunks is None else {(a - first, z - first): p for (a, z), p in chunks.items() if first <= a < end},
            )
            yield self.output.writer(sentence, [self.labels[j] for j in best[first:end]], sure)
            i += bool(sentence.lines)

    def _every(self, marginals):
        return {label.decode(): p for label, p in zip(self.labels, marginals.T.tolist(), strict=True)}

    def untagged(self, sentence):
        """The lines of a sentence as they came, for one that cannot be tagged."""
        return self._encoded(b"\n".join([*sentence.lines, b"", b""]))

    def _encoded(self, text):
        try:
            return text if self.encoding == "utf-8" else text.decode().encode(self.encoding)
        except UnicodeEncodeError as error:
            shown = error.object[error.start : error.start + 1]
            raise DataError("", f"{shown!r}, of a label, is not in {self.encoding}", "an --encoding that has it, as utf-8") from None

    def _joined(self, sentence, results):
        shown = self._gold(sentence) if self.items else sentence.lines
        return [joined(line, result) for line, result in zip(shown, results, strict=True)]

    def _with_marginals(self, best, p):
        shown = [best] if self.output.marginals == "best" else [best, *range(len(p))]
        return b"\t".join(b"%s:%.6f" % (self.labels[j], p[j]) for j in shown)

    def _gold(self, sentence):
        """The label fields of items, or nothing where they are bare attributes."""
        if not self.encoder.has_gold(sentence):
            return [b""] * len(sentence.lines)
        return [line.partition(b"\t")[0] for line in sentence.lines]


def without_unsure(decoded, least, outside):
    """The same with `outside` in the place of chunks that are less probable."""
    first, end, p = decoded.chunks
    labels = decoded.labels.copy()
    for a, z in zip(first[p < least].tolist(), end[p < least].tolist(), strict=True):
        labels[a:z] = outside
    return replace(decoded, labels=labels, chunks=tuple(part[p >= least] for part in decoded.chunks))


def joined(line, result):
    """The line with the result appended by the line's own separator."""
    if not line:
        return result
    line = line.rstrip(b" \t")
    return line + (b" " if b"\t" not in line and b" " in line.lstrip() else b"\t") + result


def is_plain(model, output):
    """Whether compiled code can do all that is asked for."""
    vocabulary = model.vocabulary
    columns = vocabulary.format == "conll" and vocabulary.form is None and not vocabulary.template.bigrams
    return columns and len(vocabulary.labels) <= MOST_LABELS and replace(output, labels_only=False, score=False, marginals=None) == Output()


def _is_text(text):
    """Whether bytes are what `check` lets pass."""
    with contextlib.suppress(UnicodeDecodeError):
        return b"\0" not in text and (text.isascii() or bool(text.decode()))
    return False
