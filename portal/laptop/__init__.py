"""What runs on a user's own machine: ssh to the user's session, through the portal's login.

The hub serves it as one file, `dsportal-ssh.pyz`. It needs Python 3.10 and OpenSSH's client, and
imports nothing but the standard library, itself and websocket-client, which the file brings along.
"""
