"""The site's S3 store as a drive of JupyterLab's file browser."""
