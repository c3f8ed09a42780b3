"""A cell run in a kernel by its name, as a command line for the Python of a session."""

# The streams of a cell arrive in any order, so its warnings stand before all that it prints.
RUN_CELL = """
import sys, nbformat, nbclient
notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(sys.argv[2])])
nbclient.NotebookClient(notebook, kernel_name=sys.argv[1], timeout=900).execute()
outputs = sorted(notebook.cells[0].outputs, key=lambda output: output.get("name") != "stderr")
print("".join(output.get("text", "") for output in outputs))
"""
