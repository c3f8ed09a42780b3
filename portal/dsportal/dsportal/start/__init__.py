"""What runs inside the Pythons of a session, also where nothing else of this project is installed.

Modules here import one another relatively: in a kernel they are a package without `dsportal`,
which needs a newer Python than kernels do.
"""
