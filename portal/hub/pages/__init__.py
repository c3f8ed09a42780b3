"""The hub's pages other than the form: each has a view, which is plain data, and a handler."""
