"""The checks of `dsportal check`: each looks, and says what it found with its cure."""
