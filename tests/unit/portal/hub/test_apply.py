"""What the settings become on JupyterHub's configuration."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path

import pytest
from traitlets.config import Config

from portal.hub.apply import apply_settings
from portal.hub.pages.base import STATIC_DIR, TEMPLATES_DIR, PortalView
from portal.hub.session_environment import EXTENSIONS_OFF
from portal.hub.settings.loader import Settings
from portal.settings.session_tables import SessionTables, read_settings
from spawner.settings.site import SiteSettings
from spawner.spawner import SlurmGPUSpawner

ROOT = Path(__file__).parents[4]
Load = Callable[[str], Settings]


@pytest.fixture
def settings(load: Load, minimal_toml: str) -> Settings:
    return load(minimal_toml + "[site]\nsimulated_gpus = true\n[resources]\nsession_hours = 2\n")


@pytest.fixture
def c(settings: Settings) -> Config:
    config = Config()
    apply_settings(config, settings)
    return config


def test_users_come_to_port_8000_and_sessions_by_tls_to_the_address_of_the_host(c: Config) -> None:
    assert c.JupyterHub.bind_url == "http://:8000/"
    assert c.JupyterHub.hub_bind_url == "http://127.0.0.1:8081"
    assert c.JupyterHub.hub_connect_url == "http://127.0.0.1:8081"
    assert c.SlurmGPUSpawner.hub_connect_url == "https://10.77.0.1:8081"
    assert c.SlurmGPUSpawner.certificates_dir.endswith("/hub/certificates")


def test_without_internal_tls_the_hub_itself_is_at_the_address_of_the_host(
    load: Load, minimal_toml: str
) -> None:
    config = Config()
    apply_settings(config, load(minimal_toml.replace("[hub]\n", "[hub]\ninternal_tls = false\n")))

    assert config.JupyterHub.hub_bind_url == "http://10.77.0.1:8081"
    assert config.SlurmGPUSpawner.hub_connect_url == "http://10.77.0.1:8081"
    assert "certificates_dir" not in config.SlurmGPUSpawner


def test_the_proxy_is_a_process_of_its_own_and_sessions_outlive_the_hub(c: Config) -> None:
    assert c.ConfigurableHTTPProxy.should_start is False
    assert c.ConfigurableHTTPProxy.api_url == "http://127.0.0.1:8001"
    assert c.JupyterHub.cleanup_servers is False


def test_the_login_leads_to_the_server_page_and_starts_nothing(c: Config) -> None:
    assert c.JupyterHub.redirect_to_server is False
    assert c.JupyterHub.implicit_spawn_seconds == 0


def test_nobody_is_let_in_who_is_not_named(c: Config) -> None:
    authenticator = c.PortalLDAPAuthenticator
    assert authenticator.allow_all is False
    assert authenticator.allow_existing_users is False
    assert authenticator.allowed_users == set()


def test_administrators_are_let_in(load: Load, minimal_toml: str) -> None:
    config = Config()
    lists = '[hub]\nadmin_users = ["grace"]\nfull_admin_users = ["linus"]\n'
    toml = minimal_toml.replace("[hub]\n", lists)
    apply_settings(config, load(toml.replace("[login]\n", '[login]\nallowed_users = ["ada"]\n')))

    assert config.PortalLDAPAuthenticator.allowed_users == {"ada", "grace", "linus"}
    assert config.PortalLDAPAuthenticator.full_admin_users == {"linus"}


def test_the_spawner_gets_the_rule_of_the_site(c: Config) -> None:
    spawner = c.SlurmGPUSpawner
    assert (spawner.cores_per_gpu, spawner.memory_per_gpu_gib) == (8, 48)
    assert (spawner.session_hours, spawner.max_session_hours) == (2, 24)
    assert spawner.partitions == ["jupyter"]
    assert spawner.server_argv == [
        "/opt/data-scientist-portal/environments/server/bin/dsportal-singleuser"
    ]


def test_sessions_are_extended_as_the_site_says(load: Load, minimal_toml: str) -> None:
    table = "[extension]\nhours = 2\nmost_hours = 12\nmost_times = 3\nslurm_user = 'slurmd'\n"
    config = Config()
    apply_settings(config, load(minimal_toml + table))

    spawner = config.SlurmGPUSpawner
    assert (spawner.extension_hours, spawner.max_extended_hours) == (2.0, 12.0)
    assert (spawner.max_extensions, spawner.slurm_user) == (3, "slurmd")
    assert spawner.extend_while_others_wait is False


def test_no_session_is_extended_where_the_site_says_nothing(load: Load, minimal_toml: str) -> None:
    config = Config()
    apply_settings(config, load(minimal_toml))

    assert config.SlurmGPUSpawner.extension_hours == 0


def test_every_setting_of_the_spawner_is_one_that_it_has(c: Config) -> None:
    known = set(SlurmGPUSpawner.class_traits(config=True))

    assert set(c.SlurmGPUSpawner) <= known


def test_notebooks_and_job_scripts_learn_where_storage_and_templates_are(c: Config) -> None:
    assert c.SlurmGPUSpawner.environment == {
        "PORTAL_STORAGE": '{"isilon": "/srv/isilon"}',
        "PORTAL_DATASETS_DIR": "/srv/isilon/datasets",
        "PORTAL_TEMPLATES_DIR": "/opt/data-scientist-portal/templates",
        "PORTAL_GPUS_SIMULATED": "1",
        "JUPYTER_SERVER_ALLOW_UNAUTHENTICATED_ACCESS": "false",
    }


def test_the_programs_of_a_session_are_told_the_sites_settings(
    load: Load, minimal_toml: str
) -> None:
    table = '[tools.netron]\ncommand = ["/opt/netron", "{unix_socket}"]\n'
    config, settings = Config(), load(minimal_toml + table)
    apply_settings(config, settings)

    told = config.SlurmGPUSpawner.session_settings
    assert told["extensions"] == {"portal.server": True, **dict.fromkeys(EXTENSIONS_OFF, False)}
    read = read_settings({"PORTAL_SETTINGS": json.dumps(told)})
    assert read == SessionTables(
        **{key.name: getattr(settings, key.name) for key in fields(SessionTables)}
    )
    assert read.tools["netron"].command == ("/opt/netron", "{unix_socket}")


def test_storage_has_the_sites_own_names(load: Load, minimal_toml: str) -> None:
    config = Config()
    settings = load(
        minimal_toml
        + "[preflight]\nisilon = 'off'\n"
        + "[storage]\nisilon = ''\n"
        + "[storage.scratch]\npath = '/mnt/scratch'\nlabel = 'Scratch'\ncheck = 'refuse'\n"
        + "[storage.library]\npath = '/library'\nread_only = true\nis_mount = true\n"
    )
    apply_settings(config, settings)

    environment = config.SlurmGPUSpawner.environment
    assert json.loads(environment["PORTAL_STORAGE"]) == {
        "scratch": "/mnt/scratch",
        "library": "/library",
    }
    assert environment["PORTAL_DATASETS_DIR"] == "/mnt/scratch/datasets"
    request_json = config.SlurmGPUSpawner.preflight.request_json()
    assert request_json["refuse"] == ["home", "shared:scratch"]
    assert request_json["checks"]["shared:library"] == {"path": "/library", "is_mount": True}


def test_a_site_without_shared_storage_has_none(load: Load, minimal_toml: str) -> None:
    config = Config()
    apply_settings(config, load(minimal_toml + "[storage]\nisilon = ''\n"))

    environment = config.SlurmGPUSpawner.environment
    assert (environment["PORTAL_STORAGE"], environment["PORTAL_DATASETS_DIR"]) == ("{}", "")


def test_real_gpus_are_not_called_simulated(load: Load, minimal_toml: str) -> None:
    config = Config()
    apply_settings(config, load(minimal_toml))

    assert "PORTAL_GPUS_SIMULATED" not in config.SlurmGPUSpawner.environment


def test_applying_twice_changes_nothing(settings: Settings, c: Config) -> None:
    before = {k: v for k, v in copy.deepcopy(dict(c.JupyterHub)).items() if k != "template_vars"}

    apply_settings(c, settings)

    after = {k: v for k, v in dict(c.JupyterHub).items() if k != "template_vars"}
    assert after == before


def test_an_ipv6_address_of_the_hub_stands_in_brackets(load: Load, minimal_toml: str) -> None:
    config = Config()
    apply_settings(config, load(minimal_toml.replace("10.77.0.1", "fd00::1")))

    assert config.SlurmGPUSpawner.hub_connect_url == "https://[fd00::1]:8081"


def test_a_hub_of_one_host_listens_beside_the_proxy(load: Load, minimal_toml: str) -> None:
    config = Config()
    apply_settings(config, load(minimal_toml.replace("10.77.0.1", "127.0.0.1")))

    assert config.JupyterHub.hub_bind_url == "http://127.0.0.2:8081"
    assert config.SlurmGPUSpawner.hub_connect_url == "https://127.0.0.1:8081"


def test_the_address_of_a_static_file_changes_with_its_content(settings: Settings) -> None:
    address = PortalView.of(SiteSettings(), settings.hub).static("portal.css")

    assert re.fullmatch(r"/hub/portal/static/portal\.css\?v=[0-9a-f]{16}", address)


def test_every_static_file_that_a_template_names_exists() -> None:
    names = {
        name
        for template in TEMPLATES_DIR.glob("*.html")
        for name in re.findall(r"portal\.static\('([^']+)'\)", template.read_text())
    }

    assert names
    assert names == {path.name for path in STATIC_DIR.iterdir()}


def test_partitions_groups_and_users_have_what_the_settings_give_them(
    load: Load, minimal_toml: str
) -> None:
    config = Config()
    own = "[partitions.jupyter]\ncores_per_gpu = 4\n[partitions.dense]\n"
    limits = (
        '[groups.students]\nmax_gpus = 1\nmax_hours = 2.5\npartitions = ["dense"]\n'
        "[users.ada]\nmax_gpus = 3\n"
    )
    apply_settings(config, load(minimal_toml.replace("[partitions.jupyter]\n", own) + limits))

    spawner = config.SlurmGPUSpawner
    assert spawner.partition_shapes == {"jupyter": {"cores_per_gpu": 4}}
    student = {"max_gpus": 1, "max_hours": 2.5, "partitions": ["dense"]}
    assert spawner.group_limits == {"students": student}
    assert spawner.user_limits == {"ada": {"max_gpus": 3}}
    assert config.PortalLDAPAuthenticator.manage_groups is True


@pytest.mark.parametrize(
    ("public_url", "told", "options"),
    [
        ("https://portal.example.com", "https://portal.example.com/", {"secure": True}),
        ("https://portal.example.com/", "https://portal.example.com/", {"secure": True}),
        ("http://portal.example.com", "http://portal.example.com/", {}),
        ("", "", {}),
    ],
)
def test_cookies_are_kept_to_tls_where_users_come_by_tls(
    load: Load, minimal_toml: str, public_url: str, told: str, options: dict[str, bool]
) -> None:
    config = Config()
    toml = minimal_toml.replace("[hub]\n", f'[hub]\npublic_url = "{public_url}"\n')
    apply_settings(config, load(toml))

    assert config.JupyterHub.public_url == told
    cookie_options = config.JupyterHub.tornado_settings["cookie_options"]
    assert cookie_options == {"samesite": "Lax", **options}


def test_everything_is_below_the_path_that_the_site_chooses(load: Load, minimal_toml: str) -> None:
    config = Config()
    keys = '[hub]\nbase_url = "/jupyter/"\npublic_url = "https://www.example.com"\n'
    settings = load(minimal_toml.replace("[hub]\n", keys))
    apply_settings(config, settings)

    assert config.JupyterHub.bind_url == "http://:8000/jupyter/"
    assert config.JupyterHub.public_url == "https://www.example.com/jupyter/"
    style = PortalView.of(settings.site, settings.hub).static("portal.css")
    assert style.startswith("/jupyter/hub/portal/static/portal.css?v=")


# Built, or installed for the build.
OF_OTHERS = {"labextension", "lib", "node_modules"}


def test_no_path_of_the_hub_is_written_as_if_it_were_at_the_root() -> None:
    written = re.compile(r"""["'`}]/(?:hub|user)/""")
    files = (path for folder in ("portal", "spawner") for path in (ROOT / folder).rglob("*"))
    ours = (path for path in files if path.suffix in {".py", ".js", ".mjs", ".html"})

    # The labextension is built; its source takes the prefix from the page.
    found = {
        str(path)
        for path in ours
        if not OF_OTHERS.intersection(path.parts)
        and written.search(path.read_text(encoding="utf-8"))
    }

    assert found == set()


def test_users_have_host_names_of_their_own_where_the_site_says_so(
    load: Load, minimal_toml: str, c: Config
) -> None:
    config = Config()
    url = "https://portal.example.com"
    keys = f'[hub]\npublic_url = "{url}/"\nsubdomain_host = "{url}"\n'
    apply_settings(config, load(minimal_toml.replace("[hub]\n", keys)))

    assert config.JupyterHub.subdomain_host == url
    assert c.JupyterHub.subdomain_host == ""
