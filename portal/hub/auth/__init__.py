"""Login: LDAP and other authenticators, throttling of password guessing, accounts, roles."""
