"""The form on which a user chooses GPUs: what is offered, what is marked, when it would start."""
