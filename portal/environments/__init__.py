"""The registry of environments: what a site and its users offer as kernels, and how each starts."""
