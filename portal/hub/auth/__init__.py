"""Who may log in: LDAP and other authenticators, guessing of passwords, accounts, roles."""
