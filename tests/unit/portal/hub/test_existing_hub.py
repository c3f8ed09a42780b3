"""The spawner added to a hub that a site already has: what is there stays and comes first."""

import copy
from typing import Any

import pytest
from jinja2 import ChoiceLoader, Environment, FileSystemLoader, PrefixLoader
from jupyterhub.app import JupyterHub
from jupyterhub.handlers import default_handlers
from tornado.web import RequestHandler
from traitlets.config import Config

import spawner
from portal.hub.existing_hub import OWN_TEMPLATES
from spawner.errors import SettingsError

PAGES = ("spawn.html", "spawn_pending.html", "not_running.html", "stop_pending.html")


class OwnHandler(RequestHandler):
    """Of the site."""


@pytest.fixture
def c() -> Config:
    config = Config()
    config.JupyterHub.authenticator_class = "pam"
    config.JupyterHub.base_url = "/lab/"
    config.JupyterHub.services = [{"name": "own"}]
    config.JupyterHub.load_roles = [{"name": "own"}]
    config.JupyterHub.template_paths = ["/srv/templates"]
    config.JupyterHub.template_vars = {"announcement": "hello", "describe_start": "ours"}
    config.JupyterHub.extra_handlers = [(r"/own", OwnHandler)]
    config.Authenticator.allowed_users = {"ada"}
    return config


def test_what_the_hub_has_stays_and_comes_first(c: Config) -> None:
    before = copy.deepcopy(c)

    spawner.configure(c)

    hub = c.JupyterHub
    for name in ("authenticator_class", "base_url", "services", "load_roles"):
        assert hub[name] == before.JupyterHub[name]
    assert c.Authenticator == before.Authenticator
    assert hub.template_paths == ["/srv/templates", *map(str, OWN_TEMPLATES)]
    assert hub.extra_handlers == [(r"/own", OwnHandler)]
    assert hub.template_vars["announcement"] == "hello"
    assert hub.template_vars["describe_start"] == "ours"
    assert hub.spawner_class == "slurm-gpu"
    assert callable(c.SlurmGPUSpawner.options_form)


def test_its_pages_have_routes_without_a_setting_that_jupyterhub_calls_deprecated() -> None:
    config = Config()

    spawner.configure(config)

    assert "extra_handlers" not in config.JupyterHub
    patterns = [route[0] for route in default_handlers]
    assert len([pattern for pattern in patterns if "portal/static" in pattern]) == 1


def test_a_second_call_changes_nothing(c: Config) -> None:
    spawner.configure(c, partitions=["gpu"])
    first = copy.copy(dict(c.JupyterHub)), copy.copy(dict(c.SlurmGPUSpawner))

    spawner.configure(c, partitions=["gpu"])

    hub = dict(c.JupyterHub)
    # Functions made anew are others, and do the same.
    assert hub.pop("template_vars").keys() == first[0].pop("template_vars").keys()
    assert (hub, dict(c.SlurmGPUSpawner)) == first


def test_what_a_file_has_only_appended_to_is_kept() -> None:
    config = Config()
    config.JupyterHub.template_paths.append("/srv/templates")
    config.JupyterHub.template_vars.update({"announcement": "hello"})

    spawner.configure(config)

    assert config.JupyterHub.template_paths[0] == "/srv/templates"
    assert config.JupyterHub.template_vars["announcement"] == "hello"


def test_a_class_and_a_form_of_the_sites_own_are_kept(c: Config) -> None:
    c.JupyterHub.spawner_class = "site.OwnSpawner"
    c.SlurmGPUSpawner.options_form = "<input>"

    spawner.configure(c)

    assert c.JupyterHub.spawner_class == "site.OwnSpawner"
    assert c.SlurmGPUSpawner.options_form == "<input>"


def test_traits_are_given_beside_it(c: Config) -> None:
    spawner.configure(c, partitions=["gpu"], cores_per_gpu=4)

    assert c.SlurmGPUSpawner.partitions == ["gpu"]
    assert c.SlurmGPUSpawner.cores_per_gpu == 4


def test_a_trait_that_there_is_not_is_named_with_the_nearest_one(c: Config) -> None:
    with pytest.raises(SettingsError, match=r"no trait 'partition'. Did you mean 'partitions'\?"):
        spawner.configure(c, partition="gpu")


@pytest.mark.parametrize("page", PAGES)
def test_the_pages_stand_in_the_sites_own_page(page: str, tmp_path: Any) -> None:
    """As JupyterHub finds templates: the site's, ours, then its own, which "templates/" means."""
    (tmp_path / "page.html").write_text(
        "THE SITE {% block stylesheet %}{% endblock %}{% block meta %}{% endblock %}"
    )
    (stock,) = (path for path in JupyterHub().template_paths if "share" in path)
    environment = Environment(
        loader=ChoiceLoader([
            PrefixLoader({"templates": FileSystemLoader([stock])}, "/"),
            FileSystemLoader([tmp_path, *OWN_TEMPLATES, stock]),
        ])
    )  # fmt: skip
    parts = {
        "portal": {"static": lambda name: f"/lab/hub/portal/static/{name}"},
        "describe_request": lambda _: "1 GPU",
        "describe_start": lambda _: {"title": "Submitted", "steps": []},
        "describe_failure": lambda *_: None,
        "describe_ending": lambda _: None,
        "user": {"spawners": {"": None}},
        "server_name": "",
        "spawn_url": "/lab/hub/spawn",
    }

    shown = environment.get_template(page).render(parts)

    assert shown.lstrip().startswith("THE SITE")
    assert '<link rel="stylesheet" href="/lab/hub/portal/static/portal.css">' in shown
    assert '"moments": "/lab/hub/portal/static/moments.js"' in shown
