"""Access to user programs that listen on a port, such as Dash, behind the login."""
