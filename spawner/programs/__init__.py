"""The programs that sudo starts as a user, or as Slurm's account.

Each is one file for `/usr/bin/python3 -IS`: the standard library only. None imports another, and
nothing imports them but tests. `launcher` also decides where the logs of sessions are kept, and how
many.
"""
