"""Python 2, for old code: any interpreter of it, such as CPython 2.7 or Jython."""

from portal.environments.languages import Language

LANGUAGE = Language(
    name="python2",
    program="python2",
    needs="Python 2",
    # A syntax error in Python 3, whatever the program is called.
    probe=("-c", "import ast, json; exec('print 0')"),
    driver=f"{__name__}.kernel",
)
