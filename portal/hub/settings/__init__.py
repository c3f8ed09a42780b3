"""The settings of a site: portal.toml as frozen dataclasses, one module for each table.

All defaults, ranges and help texts of settings are here.
"""
