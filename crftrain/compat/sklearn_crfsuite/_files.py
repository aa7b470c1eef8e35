"""A model file that goes where its estimator goes."""

from __future__ import annotations

import os
import tempfile


class FileResource:
    """A named file, or one that is made when it is needed and removed with the object; a pickle carries the latter's bytes."""

    def __init__(self, filename=None, keep_tempfiles=False, suffix="", prefix=""):
        self.filename, self.keep_tempfiles, self.suffix, self.prefix = filename, keep_tempfiles, suffix, prefix
        self.name = filename

    def refresh(self):
        """A file to write to."""
        if self.filename is None:
            self.cleanup()
            handle, self.name = tempfile.mkstemp(suffix=self.suffix, prefix=self.prefix)
            os.close(handle)

    def cleanup(self):
        """Remove a file that nobody named."""
        if self.filename is None and self.name is not None:
            if not self.keep_tempfiles and os.path.exists(self.name):
                os.unlink(self.name)
            self.name = None

    def __getstate__(self):
        state = dict(vars(self), content=None)
        if self.filename is None and self.name is not None:
            with open(self.name, "rb") as file:
                state.update(content=file.read(), name=None)
        return state

    def __setstate__(self, state):
        content = state.pop("content")
        vars(self).update(state)
        if content is not None:
            self.refresh()
            with open(self.name, "wb") as file:
                file.write(content)

    def __del__(self):
        if os is not None and not vars(self).get("keep_tempfiles", True):
            self.cleanup()
