"""The folders of a user in the site's storages."""

from portal.server.base.shared_storage import fill_in


def test_a_place_for_users_is_the_users_own_folder() -> None:
    assert fill_in({"scratch": "/scratch/{user}"}, "ada", ["staff"]) == {"scratch": "/scratch/ada"}


def test_a_place_for_groups_is_a_folder_of_each_group() -> None:
    assert fill_in({"project": "/project/{group}"}, "ada", ["physics", "staff"]) == {
        "project-physics": "/project/physics",
        "project-staff": "/project/staff",
    }


def test_any_other_place_is_the_same_for_everybody() -> None:
    assert fill_in({"isilon": "/srv/isilon"}, "ada", []) == {"isilon": "/srv/isilon"}
