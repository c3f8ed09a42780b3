"""The page of guests who only read: notebooks as they change, without JupyterLab and its routes."""
