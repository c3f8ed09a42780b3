"""The hub's own HTTP server and its proxy: what is let in, and how sessions are reached."""
