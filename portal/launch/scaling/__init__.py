"""The parts of `portal.launch.study`, `probe` and `advice`."""
