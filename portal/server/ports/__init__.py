"""Programs of the user that listen on a port, such as Dash, shown in a tab behind the login."""
