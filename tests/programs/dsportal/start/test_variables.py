"""Variables that move from a real kernel to another one."""

import os
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from deploy.environments.builder.plan import Plan
from tests.support.two_kernels import started


def moved(folder: Path, cells: Sequence[str], look: str, python: str = sys.executable) -> str:
    """Run cells in a kernel, and one in the next that has its variables; return what that shows."""
    folder = folder / "state"
    folder.mkdir(mode=0o700)
    with started(python, folder.parent) as old:
        shown = [old.run(cell) for cell in cells]
        assert not [one for one in shown if "Error" in one]
        saved = old.save(folder)
    with started(python, folder.parent) as new:
        restored = new.restore(folder)
        return "\n".join([*saved["lost"], *restored["lost"], new.run(look)])


def test_functions_and_classes_see_the_variables_of_the_new_kernel(tmp_path: Path) -> None:
    cells = [
        "import functools\nfactor = 2\ndef scaled(x): return factor * x",
        "class Box:\n    def get(self): return scaled(3)\nbox = Box(); boxes = [box]",
        "@functools.lru_cache\ndef slow(x): return scaled(x)",
        "inner = (lambda k: lambda: k + factor)(1)",
    ]
    look = "factor = 5; print(scaled(1), box.get(), boxes[0] is box, type(box) is Box, slow(2))"

    assert moved(tmp_path, cells, f"{look}; print(inner())") == "5 15 True True 10\n6\n"


def test_what_would_become_something_else_is_named_with_its_cell(tmp_path: Path) -> None:
    cells = [
        "import numpy as np\nnumbers = np.arange(3.0)",
        "log = open('log', 'w+'); text = open('/etc/hostname')",
        "held = {'log': log, 'numbers': numbers}; steps = (n for n in range(3))",
        "mapped = np.memmap('file', mode='w+', shape=10)",
    ]

    assert moved(tmp_path, cells, "print(numbers)").splitlines() == [
        "log (open file, cell 2)",
        "text (open file, cell 2)",
        "held (it holds an open file, cell 3)",
        "steps (generator, cell 3)",
        "mapped (an array in a file, cell 4)",
        "[0. 1. 2.]",
    ]


def test_what_cannot_be_restored_spoils_nothing_that_it_shares_with(tmp_path: Path) -> None:
    cells = [
        "class Bad:\n    def __reduce__(self): return int, ('x',)",
        "shared = [1]; bad = [shared, Bad(), [2]]; holder = [bad, shared]; own = (shared, bad[2])",
        "last = {'shared': shared, 'text': 'abc' * 3}",
    ]
    look = (
        "print(shared is last['shared'], last['text'], 'holder' in globals(), 'own' in globals())"
    )

    lost = moved(tmp_path, cells, look).splitlines()

    assert [line.split()[0] for line in lost] == ["bad", "holder", "own", "True"]
    assert lost[-1] == "True abcabcabc False False"


def test_folder_path_environment_and_numbers_of_cells_go_on(tmp_path: Path) -> None:
    (tmp_path / "own").mkdir()
    (tmp_path / "own/mine.py").write_text("x = 7")
    cells = [
        "import os, sys; os.chdir('own'); sys.path.append(os.getcwd()); import mine",
        "os.environ['MODE'] = 'fast'; os.environ['SLURM_JOB_ID'] = '5'",
    ]
    look = "print(mine.x, os.path.basename(os.getcwd()), os.environ['MODE'], len(In))"

    assert moved(tmp_path, cells, look) == "7 own fast 4\n"


def test_a_file_that_others_could_have_written_is_not_read(tmp_path: Path) -> None:
    folder = tmp_path / "state"
    folder.mkdir(mode=0o700)
    with started(sys.executable, tmp_path) as kernel:
        kernel.run("x = 1")
        kernel.save(folder)
        assert {path.stat().st_mode & 0o777 for path in folder.iterdir()} == {0o600}
        os.chmod(folder / "variables.pickle", 0o620)
        restore = f"get_ipython().portal_gpus.restore({str(folder)!r}, None)"
        assert "nothing is restored from it" in kernel.run(restore)
        os.chmod(folder / "variables.pickle", 0o600)
        (folder / "index.json").rename(tmp_path / "elsewhere")
        (folder / "index.json").symlink_to(tmp_path / "elsewhere")
        assert "OSError" in kernel.run(restore)


TORCH = [
    "import torch\nmodel = torch.nn.Linear(2, 1)\noptimizer = torch.optim.Adam(model.parameters())",
    "whole = torch.arange(6.0); part = whole[2:]\nhalf = torch.ones(2, dtype=torch.bfloat16)",
    "loader = torch.utils.data.DataLoader(whole, num_workers=1, persistent_workers=True)\n"
    "rows = [float(row) for row in loader]",
    "model(torch.ones(3, 2)).sum().backward(); optimizer.step(); out = model(whole[:2]).item()",
]
KERAS = [
    "import keras, numpy as np\ninputs = keras.Input((4,)); hidden = keras.layers.Dense(3)(inputs)",
    "last = keras.layers.Dense(2)(hidden)\nmodel = keras.Model(inputs, last)",
    "part = keras.Model(inputs, hidden)",
    "class Own(keras.Model):\n    def __init__(self):\n        super().__init__()\nown = Own()",
    "def loss(a, b): return keras.ops.mean(keras.ops.abs(a - b))\nmodel.compile('adam', loss)",
    "x = np.ones((8, 4)); history = model.fit(x, np.ones((8, 2)), verbose=0)",
    "optimizer = model.optimizer; layer = model.layers[1]; out = model.predict(x, verbose=0).sum()",
]


def test_views_and_optimizers_of_pytorch_stay_with_what_they_belong_to(tmp_path: Path) -> None:
    look = (
        "part[0] = 9; print(float(whole[2]), out == model(whole[:2]).item(), half.dtype,"
        " optimizer.param_groups[0]['params'][0] is model.weight,"
        " int(optimizer.state[model.weight]['step']), len(loader))"
    )
    python = str(Plan().environment("pytorch") / "bin/python")

    assert moved(tmp_path, TORCH, look, python) == "9.0 True torch.bfloat16 True 1 6\n"


@pytest.mark.parametrize("environment", ["tensorflow", "pytorch"])
def test_what_belongs_to_a_model_of_keras_stays_a_part_of_it(
    tmp_path: Path, environment: str
) -> None:
    look = (
        "print(out == model.predict(x, verbose=0).sum(), optimizer is model.optimizer,"
        " int(optimizer.iterations), layer is model.layers[1], history.model is model,"
        " model.input is inputs, model.loss is loss)"
    )
    backend = {"tensorflow": "tensorflow", "pytorch": "torch"}[environment]
    cells = [f"import os; os.environ['KERAS_BACKEND'] = {backend!r}", *KERAS]
    python = str(Plan().environment(environment) / "bin/python")

    shown = moved(tmp_path, cells, look, python).splitlines()

    assert shown[:2] == [
        "part (it shares layers with another model, cell 4)",
        "own (the __init__ of Own takes no **kwargs of Keras's, cell 5)",
    ]
    assert shown[-1] == "True True 1 True True True True"
