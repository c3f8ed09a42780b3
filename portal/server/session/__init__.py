"""The session as its user sees it: time left, resource usage, idle timeout."""
