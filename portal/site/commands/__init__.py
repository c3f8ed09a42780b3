"""Commands of `dsportal` for administrators: status, drain, users, backup, upgrade, services."""
