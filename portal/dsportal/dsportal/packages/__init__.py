"""A user's own packages for a shipped kernel: how the kernel starts with them."""
