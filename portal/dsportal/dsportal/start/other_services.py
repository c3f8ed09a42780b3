"""What notebooks from other services import that is there alone, answered with what to do here.

Such an import still fails: notebooks that run anywhere try it to see whether they are there.
"""
# mypy: allow-untyped-defs, allow-untyped-calls

import os

_COLAB = (
    "google.colab is part of Google Colab. Here your files need no drive.mount: your home, {home},"
    " is in the file browser, with the site's storage in it. files.upload: drag files into the file"
    " browser. files.download: right-click a file there."
)
_KAGGLE = (
    "kaggle_secrets is part of Kaggle. Here put a key into a file of yours that others cannot read,"
    " and read it from there."
)
SENTENCES = {"google.colab": _COLAB, "kaggle_secrets": _KAGGLE}
# Without any package of Google's, Python does not get as far as the second name.
FIRST_NAMES = {"google": "No module named 'google'. " + _COLAB}


class Finder:
    """Stands behind Python's own finders, so it is asked for what they did not find."""

    def find_spec(self, name, path=None, target=None):
        """Say what to do in place of importing a module in SENTENCES.

        Args:
            name: Of the module, with its packages.
            path: Where its package is, or None.
            target: As Python gives it.

        Raises:
            ModuleNotFoundError: As Python would, with the sentence.
        """
        # IPython leaves this frame out of what it shows.
        __tracebackhide__ = True
        sentence = SENTENCES.get(name) or FIRST_NAMES.get(name)
        if sentence:
            home = os.path.expanduser("~")
            raise ModuleNotFoundError(sentence.replace("{home}", home), name=name)
