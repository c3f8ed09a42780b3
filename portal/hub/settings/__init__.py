"""The settings of a site: portal.toml as frozen dataclasses, one module for each group of tables.

All defaults, ranges and help texts of settings are here.
"""
