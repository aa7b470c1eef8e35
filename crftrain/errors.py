"""What can go wrong, said once: every error names the place, the finding and the expectation.

    train.txt:812: 2 columns, expected 3 as on line 1
    ^ place        ^ finding  ^ expectation

The commands turn a CrftrainError into one line on stderr and exit status 1, a SettingsError into wrong usage and status 2, a
CrftrainWarning into a line alone.
"""


class CrftrainError(Exception):
    """An error that the user can understand and act on."""

    def __init__(self, place, finding, expectation=""):
        self.place, self.finding, self.expectation = place, finding, expectation
        super().__init__(place, finding, expectation)

    def __str__(self):
        where = f"{self.place}: " if self.place else ""
        return where + self.finding + (f", expected {self.expectation}" if self.expectation else "")


class CrftrainWarning(UserWarning):
    """Something that the user should know, and the work goes on."""


class DataError(CrftrainError, ValueError):
    """Training or test data that cannot be read as it stands; place is FILE:LINE, or X[sequence][token] of Python objects."""


class DataTypeError(DataError, TypeError):
    """The same where Python speaks of types."""


class TemplateError(CrftrainError):
    """A template line that means nothing; place is FILE:LINE."""


class ModelError(CrftrainError):
    """A model file that is not whole, not ours, or cannot be written; place is the file."""


class TrainingError(CrftrainError):
    """Numbers that left the range of floating point; place is the algorithm."""


class SettingsError(CrftrainError, ValueError):
    """Something asked for that cannot be done, found before anything is read; a command shows it as wrong usage."""
