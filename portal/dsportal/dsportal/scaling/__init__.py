"""The parts of `dsportal.study`, `probe` and `advice`."""
