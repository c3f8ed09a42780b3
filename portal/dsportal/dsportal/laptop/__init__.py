"""The command `dsportal` of a user's own machine: sessions and jobs by REST, and ssh.

The hub serves it as one file, `dsportal.pyz`, and the wheel of `dsportal` installs it. It needs
Python 3.10, and nothing else but OpenSSH's client and websocket-client for ssh. The file brings the
latter along.
"""
