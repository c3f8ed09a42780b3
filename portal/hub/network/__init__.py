"""The hub's HTTP server and its proxy: admission of requests, routes to sessions."""
