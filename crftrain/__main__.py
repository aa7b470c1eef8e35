"""python -m crftrain, and the command of that name."""

import os
import signal


def run():
    """The command line. Ctrl-C while modules load just ends it: a library's half-made import would end in a traceback."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _interrupted)
    from .cli.later import later

    later("numpy")
    from .cli.ending import main

    main(alone=True)


def _interrupted(number, frame):
    while frame is not None:
        if frame.f_code.co_filename.startswith("<frozen importlib"):
            os._exit(128 + number)
        frame = frame.f_back
    raise KeyboardInterrupt


if __name__ == "__main__":
    run()
