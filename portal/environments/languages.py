"""Languages of kernels."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Language:
    """The language of a kernel's cells.

    Attributes:
        name: In the registry.
        program: Its interpreter, unless an environment names another.
        needs: What an environment must have, for the sentence that it lacks it.
        probe: The interpreter's arguments that fail if no kernel can start.
        driver: Module with a `main` that is the kernel, in the server's own Python, and gets the
            interpreter's command behind "--"; empty if the interpreter itself runs the kernel.
    """

    name: str
    program: str
    needs: str
    probe: tuple[str, ...] = ()
    driver: str = ""


PYTHON = Language(name="python", program="python3", needs="ipykernel")
R = Language(name="r", program="R", needs="IRkernel")
# For old code: any interpreter of it, such as CPython 2.7 or Jython.
PYTHON2 = Language(
    name="python2",
    program="python2",
    needs="Python 2",
    # A syntax error in Python 3, whatever the program is called.
    probe=("-c", "import ast, json; exec('print 0')"),
    driver="portal.environments.python2_kernel",
)
LANGUAGES = {one.name: one for one in (PYTHON, PYTHON2, R)}
