"""orm.User: the look for a user is one query.

JupyterHub looks for the user of each request. Its roles, groups and shares are "selectin"
relations, for which SQLAlchemy sends three more queries, and throws their answers away where the
user is loaded already. Here they are loaded at their first use, and kept like before.

Source:
    JupyterHub 6.1.1, `orm.User`. SQLAlchemy 2.1, `_SelectInLoader._load_for_path`.

Shown by:
    tests/unit/spawner/hub/patches/test_orm_user.py
"""

from jupyterhub import orm
from sqlalchemy import Select, event
from sqlalchemy.orm import ORMExecuteState, lazyload
from sqlalchemy.orm import Session as Database

_AT_USE = (lazyload(orm.User.roles), lazyload(orm.User.groups), lazyload(orm.User.shared_with_me))


def load_relations_at_use() -> None:
    """Have relations of users loaded at their first use, in all databases of this process; once."""
    if not event.contains(Database, "do_orm_execute", _load_at_use):
        event.listen(Database, "do_orm_execute", _load_at_use)


def _load_at_use(query: ORMExecuteState) -> None:
    statement = query.statement
    # A list of users is better off with one query for the relations of all, and says what it loads.
    if not isinstance(statement, Select) or statement._limit != 1 or statement._with_options:
        return
    # Options fail where only columns are wanted.
    if statement.column_descriptions[0]["expr"] is orm.User:
        query.statement = statement.options(*_AT_USE)
