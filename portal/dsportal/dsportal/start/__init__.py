"""What runs inside the Pythons of a session, also where nothing else of this project is installed.

Modules here import one another by no name: each is read as text that follows those it needs.
"""
