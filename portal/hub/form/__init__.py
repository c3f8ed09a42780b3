"""The form for choosing GPUs: its choices, its initial selection, expected starts."""
