"""Tagging streams: what has arrived is encoded, decoded and written before more has to arrive.

Sentences go through a Tagger in pieces of about PIECE tokens: the decoder works through a piece without Python. With several threads the
pieces wait in a bounded queue, and their results leave it in the order in which they came.
"""

import threading

from ..errors import DataError, TrainingError
from ..text.read import Run, check

PIECE = 2000  # tokens; a sentence is never cut
WAITING = 4  # pieces in the queue for each thread


def pieces(tagger, blocks):
    """What is tagged together: a Run, where the tagger can, or a list of PIECE tokens or a little more."""
    for block in blocks:
        if isinstance(block, Run):
            if tagger.plain:
                yield block
                continue
            block = block.sentences()
        yield from cut(block)


def cut(sentences):
    """Lists of sentences cut into lists of PIECE tokens or a little more."""
    piece, tokens = [], 0
    for sentence in sentences:
        piece.append(sentence)
        tokens += len(sentence.lines)
        if tokens >= PIECE:
            yield piece
            piece, tokens = [], 0
    if piece:
        yield piece


def tag_piece(tagger, piece, on_error="stop"):
    """(output, errors) of some sentences. What has an error ends them (stop), is left out (skip), or written as it came (keep)."""
    if isinstance(piece, Run):
        return tag_run(tagger, piece, on_error)
    try:
        if on_error != "stop":
            for sentence in piece:
                check(sentence)
        return tagger.tag_all(piece), []
    except (DataError, TrainingError):
        outputs, errors = [], []
    for sentence in piece:
        output, error = _tag_one(tagger, sentence)
        if error:
            errors.append(error)
            if on_error == "stop":
                break
        outputs.append(tagger.untagged(sentence) if error and on_error == "keep" else output)
    return b"".join(outputs), errors


def tag_run(tagger, run, on_error):
    """The same for a Run. A sentence that is odd goes the other way alone: the output is the same whatever came together with it."""
    checked = on_error == "stop"
    output = tagger.tag_run(run, checked=checked)
    if output is not None:
        return output, []
    outputs, errors = [], []
    for sentence in run.sentences():
        alone = Run(b"\n".join([*sentence.lines, b"", b""]), sentence.source, sentence.number)
        output, found = tagger.tag_run(alone, checked=checked), []
        if output is None:
            output, found = tag_piece(tagger, [sentence], on_error)
        outputs.append(output)
        errors += found
        if found and on_error == "stop":
            break
    return b"".join(outputs), errors


def _tag_one(tagger, sentence):
    try:
        check(sentence)
        return tagger.tag(sentence), None
    except DataError as error:
        return b"", error
    except TrainingError as error:
        return b"", DataError(sentence.place(), error.finding.replace("sequence 1", "the sentence"), error.expectation)


def tag_stream(tagger, blocks, write, *, threads=1, on_error="stop", tell=lambda error: None):
    """write(bytes) for the sentences of the blocks, in order; tell(error) for each that cannot be tagged; how many they are."""
    failed = 0

    def finish(output, errors):
        nonlocal failed
        if output:
            write(output)
        if errors and on_error == "stop":
            raise errors[0]
        for error in errors:
            tell(error)
        failed += len(errors)

    if threads == 1:
        for piece in pieces(tagger, blocks):
            finish(*tag_piece(tagger, piece, on_error))
    else:
        _in_threads(tagger, pieces(tagger, blocks), finish, threads, on_error)
    return failed


def _in_threads(tagger, pieces, finish, threads, on_error):
    """finish(output, errors) for each piece, in order."""
    import queue  # neither is worth its loading where one thread does all
    from concurrent.futures import ThreadPoolExecutor

    results = queue.Queue(WAITING * threads)
    failure = []

    def finish_in_order():
        while (future := results.get()) is not None:
            if not failure:
                try:
                    finish(*future.result())
                except BaseException as error:
                    failure.append(error)

    writer = threading.Thread(target=finish_in_order)
    with ThreadPoolExecutor(threads) as pool:
        writer.start()
        try:
            for piece in pieces:
                if failure:
                    break
                tagger.settle(piece)
                results.put(pool.submit(tag_piece, tagger, piece, on_error))
        finally:
            results.put(None)
            writer.join()
    if failure:
        raise failure[0]
