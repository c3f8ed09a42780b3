"""What notebooks from other services import that is elsewhere, answered with what to do here.

Such an import fails as Python lets it fail: notebooks that run anywhere try it to see where they
are.
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
# By what a cell names.
SENTENCES = {"google.colab": _COLAB, "kaggle_secrets": _KAGGLE}
# Elsewhere one kernel has all of them, and notebooks from there name "Python 3".
KERNELS = {
    "keras": "PyTorch or TensorFlow",
    "tensorflow": "TensorFlow",
    "torch": "PyTorch",
    "torchvision": "PyTorch",
    "transformers": "PyTorch",
}


def advise(result):
    """Say after a cell with IPython's `result` what to do in place of an import that failed."""
    error = result.error_in_exec
    if isinstance(error, ModuleNotFoundError):
        sentence = advice(error.name or "", result.info.raw_cell)
        if sentence:
            print(sentence)


def advice(missing, cell):
    """Return what to do, or "".

    Args:
        cell: The text of the cell. Without any package of Google's, only "google" is missing.
    """
    for name, sentence in SENTENCES.items():
        if name in cell and missing in (name, name.partition(".")[0]):
            return sentence.replace("{home}", os.path.expanduser("~"))
    if missing in KERNELS:
        return (
            f"{missing} is in the kernel {KERNELS[missing]}: choose it in the menu Kernel,"
            ' "Change Kernel…", if your site has it.'
        )
    return ""
