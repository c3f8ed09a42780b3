"""The pages of the hub beside the form: each a view, which is plain data, and a handler."""
