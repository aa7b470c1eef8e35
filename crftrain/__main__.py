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
    """Ends it where an import would be half done, or where no command has begun that could end in its own way."""
    while frame is not None and not frame.f_code.co_filename.startswith("<frozen importlib"):
        if frame.f_code.co_name == "_run" and frame.f_globals["__name__"] == "crftrain.cli.ending":
            raise KeyboardInterrupt
        frame = frame.f_back
    os._exit(128 + number)


if __name__ == "__main__":
    run()
