"""The settings of a site: portal.toml as frozen dataclasses, one module for each group of tables.

Every default of a setting, its range and its help stand here.
"""
