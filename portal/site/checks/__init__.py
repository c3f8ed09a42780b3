"""The checks of `dsportal check`: each returns its findings, and a fix for each problem."""
