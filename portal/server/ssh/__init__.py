"""ssh from the user's own machine: an sshd for each connection, behind the login."""
