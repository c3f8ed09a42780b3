"""A cell run in a kernel by its name, as a command line for the Python of a session."""

from __future__ import annotations

# Each stream of the cell is printed where it belongs: the kernel's streams arrive in any order, so
# nothing may be read from where one stands beside the other.
RUN_CELL = """
import sys, nbformat, nbclient
notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(sys.argv[2])])
nbclient.NotebookClient(notebook, kernel_name=sys.argv[1], timeout=900).execute()
for output in notebook.cells[0].outputs:
    stream = sys.stderr if output.get("name") == "stderr" else sys.stdout
    stream.write(output.get("text", ""))
"""
