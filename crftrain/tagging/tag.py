"""Model + sentences -> labels, scores, marginals.

Tagging streams: a sentence is encoded, decoded and written before the next one has to arrive. With several threads
the sentences wait in a bounded queue, and their results leave it in the order in which they came.
"""

import queue
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np

from ..chain._sequences import Sequences
from ..errors import ModelError, TemplateError
from ..text.encode import Encoder
from ._decoder import Decoder

WAITING = 64  # sentences in the queue for each thread


@dataclass(frozen=True)
class Output:
    """What `tag` writes for a sentence."""

    labels_only: bool = False
    score: bool = False  # @probability TAB p before it
    marginals: str | None = None  # "best": label:probability, "all": every label's too


class Tagger:
    """A model at work on single sentences."""

    def __init__(self, model, *, gold="auto", output=Output(), encoding="utf-8"):
        self.items = model.vocabulary.format == "items"
        self.layout, self.output, self.encoding = model.layout, output, encoding
        self.decoder = Decoder(model.layout, model.w)
        try:
            self.encoder = Encoder(model.vocabulary, gold=gold)
        except (TemplateError, ValueError) as error:
            raise ModelError("", f"the model contradicts itself: {error}") from None
        self.labels = [label.encode() for label in model.vocabulary.labels]

    def tag(self, sentence):
        """The output for one sentence, an empty line at its end, as bytes."""
        output = self.output
        sequences = Sequences(self.encoder.sentence(sentence), self.layout)
        best, log_p, marginals = self.decoder.decode(sequences, probabilities=output.score, marginals=output.marginals is not None)
        if marginals is None:
            results = [self.labels[j] for j in best]
        else:
            results = [self._with_marginals(j, p) for j, p in zip(best, marginals, strict=True)]
        if not output.labels_only:
            shown = self._gold(sentence) if self.items else sentence.lines
            results = [_joined(line, result) for line, result in zip(shown, results, strict=True)]
        if output.score:
            results.insert(0, b"@probability\t%.6g" % np.exp(log_p[0]))
        text = b"\n".join(results) + b"\n\n"
        return text if self.encoding == "utf-8" else text.decode().encode(self.encoding)

    def _with_marginals(self, best, p):
        shown = [best] if self.output.marginals == "best" else [best, *range(len(p))]
        return b"\t".join(b"%s:%.6f" % (self.labels[j], p[j]) for j in shown)

    def _gold(self, sentence):
        """The label fields of items, or nothing where they are bare attributes."""
        if not self.encoder.has_gold(sentence):
            return [b""] * len(sentence.lines)
        return [line.partition(b"\t")[0] for line in sentence.lines]


def _joined(line, result):
    """The line with the result appended by the line's own separator."""
    if not line:
        return result
    line = line.rstrip(b" \t")
    return line + (b" " if b"\t" not in line and b" " in line.lstrip() else b"\t") + result


def tag_stream(tagger, stream, write, *, threads=1):
    """write(bytes) for each sentence of the stream, in order."""
    if threads == 1:
        for sentence in stream:
            write(tagger.tag(sentence))
        return
    results = queue.Queue(WAITING * threads)
    failure = []

    def write_in_order():
        while (future := results.get()) is not None:
            if not failure:
                try:
                    write(future.result())
                except BaseException as error:
                    failure.append(error)

    writer = threading.Thread(target=write_in_order)
    with ThreadPoolExecutor(threads) as pool:
        writer.start()
        try:
            for sentence in stream:
                if failure:
                    break
                tagger.encoder.has_gold(sentence)  # the first sentence of a source settles that, so it is asked in order
                results.put(pool.submit(tagger.tag, sentence))
        finally:
            results.put(None)
            writer.join()
    if failure:
        raise failure[0]
