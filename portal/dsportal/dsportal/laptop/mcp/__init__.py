"""`dsportal mcp`: agents on the user's machine use sessions and jobs, by the verbs of the command.

A server of the Model Context Protocol on standard input and output. It does what a tool is called
for, with the user's token, and nothing else.
"""

# The tools that start, stop or run something, each of which the user allows.
CHANGES = ("start_session", "stop_session", "run_cell", "submit_job")
