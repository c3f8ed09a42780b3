"""What `portal.launch.study`, `probe` and `advice` are made of."""
