"""The notebook server on a compute node: it takes a port, reports it, and serves.

It runs in the environment of the notebook server: the standard library, jupyter_server and
jupyterhub, and of this package only what needs no more than these.
"""
