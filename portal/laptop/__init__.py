"""What runs on a user's own machine: sessions by REST, and ssh through the portal's login.

The hub serves it as one file, `dsportal-ssh.pyz`. It needs Python 3.10, for ssh also OpenSSH's
client, and imports nothing but the standard library, itself and websocket-client, which the file
brings along.
"""
