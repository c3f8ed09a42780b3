"""What the settings become on JupyterHub's configuration."""

import copy
import gc
import json
import re
import sys
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path

import pytest
from traitlets.config import Config

from portal.hub.apply import apply_settings
from portal.hub.pages.base import STATIC_DIR, TEMPLATES_DIR, PortalView
from portal.hub.session_environment import EXTENSIONS_OFF
from portal.hub.settings.hub import HubSettings
from portal.hub.settings.loader import Settings
from portal.settings.session_tables import SessionTables, read_settings
from spawner.settings.site import SiteSettings
from spawner.spawner import SlurmGPUSpawner

ROOT = Path(__file__).parents[4]
Load = Callable[[str], Settings]


@pytest.fixture
def settings(load: Load, minimal_toml: str) -> Settings:
    return load(minimal_toml)


@pytest.fixture
def c(settings: Settings) -> Config:
    config = Config()
    apply_settings(config, settings)
    return config


# What a line of portal.toml becomes: a trait by its class and name, and its value.
DEFAULTS = {
    "JupyterHub.bind_url": "http://:8000/",
    "JupyterHub.hub_bind_url": "http://127.0.0.1:8081",
    "JupyterHub.hub_connect_url": "http://127.0.0.1:8081",
    "JupyterHub.subdomain_host": "",
    # After the login comes the server page, and nothing starts.
    "JupyterHub.redirect_to_server": False,
    "JupyterHub.implicit_spawn_seconds": 0,
    # Sessions outlive the hub, and the proxy is a process of its own.
    "JupyterHub.cleanup_servers": False,
    "ConfigurableHTTPProxy.should_start": False,
    "ConfigurableHTTPProxy.api_url": "http://127.0.0.1:8001",
    "PortalLDAPAuthenticator.allow_all": False,
    "PortalLDAPAuthenticator.allow_existing_users": False,
    "PortalLDAPAuthenticator.allowed_users": set(),
    "PortalLDAPAuthenticator.manage_groups": True,
    "SlurmGPUSpawner.hub_connect_url": "https://10.77.0.1:8081",
    "SlurmGPUSpawner.cores_per_gpu": 8,
    "SlurmGPUSpawner.memory_per_gpu_gib": 48,
    "SlurmGPUSpawner.max_session_hours": 24,
    "SlurmGPUSpawner.partitions": ["jupyter"],
    "SlurmGPUSpawner.extension_hours": 0,
    "SlurmGPUSpawner.server_argv": [
        "/opt/data-scientist-portal/environments/server/bin/dsportal-singleuser"
    ],
    "SlurmGPUSpawner.environment": {
        "PORTAL_STORAGE": '{"isilon": "/srv/isilon"}',
        "PORTAL_DATASETS_DIR": "/srv/isilon/datasets",
        "PORTAL_TEMPLATES_DIR": "/opt/data-scientist-portal/templates",
        "JUPYTER_SERVER_ALLOW_UNAUTHENTICATED_ACCESS": "false",
    },
}
URL = "https://portal.example.com"
STUDENT = {"max_gpus": 1, "max_hours": 2.5, "partitions": ["dense"]}


@pytest.mark.parametrize(
    ("of_hub", "tables", "expected"),
    [
        ("", "", DEFAULTS),
        (
            "internal_tls = false",
            "",
            {
                "JupyterHub.hub_bind_url": "http://10.77.0.1:8081",
                "SlurmGPUSpawner.hub_connect_url": "http://10.77.0.1:8081",
            },
        ),
        ("address = 'fd00::1'", "", {"SlurmGPUSpawner.hub_connect_url": "https://[fd00::1]:8081"}),
        (
            "address = '127.0.0.1'",
            "",
            {
                "JupyterHub.hub_bind_url": "http://127.0.0.2:8081",
                "SlurmGPUSpawner.hub_connect_url": "https://127.0.0.1:8081",
            },
        ),
        (
            'admin_users = ["grace"]\nfull_admin_users = ["linus"]',
            "",
            {
                "PortalLDAPAuthenticator.allowed_users": {"grace", "linus"},
                "PortalLDAPAuthenticator.full_admin_users": {"linus"},
            },
        ),
        (
            f"base_url = '/jupyter/'\npublic_url = '{URL}'",
            "",
            {
                "JupyterHub.bind_url": "http://:8000/jupyter/",
                "JupyterHub.public_url": f"{URL}/jupyter/",
            },
        ),
        (
            f"public_url = '{URL}/'\nsubdomain_host = '{URL}'",
            "",
            {"JupyterHub.subdomain_host": URL},
        ),
        (
            "",
            "[extension]\nhours = 2\nmost_hours = 12\nmost_times = 3\nslurm_user = 'slurmd'",
            {
                "SlurmGPUSpawner.extension_hours": 2,
                "SlurmGPUSpawner.max_extended_hours": 12,
                "SlurmGPUSpawner.max_extensions": 3,
                "SlurmGPUSpawner.slurm_user": "slurmd",
                "SlurmGPUSpawner.extend_while_others_wait": False,
            },
        ),
        (
            "",
            "[partitions.half]\ncores_per_gpu = 4\n[partitions.dense]\n[users.ada]\nmax_gpus = 3\n"
            '[groups.students]\nmax_gpus = 1\nmax_hours = 2.5\npartitions = ["dense"]',
            {
                "SlurmGPUSpawner.partition_shapes": {"half": {"cores_per_gpu": 4}},
                "SlurmGPUSpawner.group_limits": {"students": STUDENT},
                "SlurmGPUSpawner.user_limits": {"ada": {"max_gpus": 3}},
            },
        ),
    ],
    ids=[
        *("defaults", "no internal TLS", "IPv6", "beside the proxy on one host", "administrators"),
        *("below a path", "host names of users", "extension", "partitions, groups and users"),
    ],
)
def test_a_line_of_the_file_becomes_a_trait(
    load: Load, minimal_toml: str, of_hub: str, tables: str, expected: dict[str, object]
) -> None:
    lines = minimal_toml.splitlines()
    if of_hub.startswith("address"):
        lines = [line for line in lines if not line.startswith("address =")]
    toml = "\n".join(lines).replace("[hub]", f"[hub]\n{of_hub}")
    config = Config()
    apply_settings(config, load(f"{toml}\n{tables}\n"))

    found = {name: config[name.split(".")[0]][name.split(".")[1]] for name in expected}
    assert found == expected
    assert ("certificates_dir" in config.SlurmGPUSpawner) is ("internal_tls" not in of_hub)


def test_a_site_without_shared_storage_has_none_and_simulated_gpus_are_called_so(
    load: Load, minimal_toml: str
) -> None:
    config = Config()
    tables = "[storage]\nisilon = ''\n[site]\nsimulated_gpus = true\n"
    apply_settings(config, load(minimal_toml + tables))

    environment = config.SlurmGPUSpawner.environment
    assert (environment["PORTAL_STORAGE"], environment["PORTAL_DATASETS_DIR"]) == ("{}", "")
    assert environment["PORTAL_GPUS_SIMULATED"] == "1"


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


def test_every_setting_of_the_spawner_is_one_that_it_has(c: Config) -> None:
    known = set(SlurmGPUSpawner.class_traits(config=True))

    assert set(c.SlurmGPUSpawner) <= known


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


def test_applying_twice_changes_nothing(settings: Settings, c: Config) -> None:
    before = {k: v for k, v in copy.deepcopy(dict(c.JupyterHub)).items() if k != "template_vars"}

    apply_settings(c, settings)

    after = {k: v for k, v in dict(c.JupyterHub).items() if k != "template_vars"}
    assert after == before


@pytest.mark.parametrize("base_url", ["/", "/jupyter/"])
def test_the_address_of_a_static_file_is_below_the_sites_path_and_changes_with_its_content(
    base_url: str,
) -> None:
    hub = HubSettings(address="10.77.0.1", base_url=base_url)

    address = PortalView.of(SiteSettings(), hub).static("portal.css")

    assert re.fullmatch(rf"{base_url}hub/portal/static/portal\.css\?v=[0-9a-f]{{16}}", address)


def test_every_static_file_that_a_template_names_exists() -> None:
    names = {
        name
        for template in TEMPLATES_DIR.glob("*.html")
        for name in re.findall(r"portal\.static\('([^']+)'\)", template.read_text())
    }

    assert names
    assert names == {path.name for path in STATIC_DIR.iterdir()}


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


def test_threads_and_searches_for_garbage_leave_the_event_loop_its_turn(settings: Settings) -> None:
    apply_settings(Config(), settings)

    assert sys.getswitchinterval() < 0.001
    assert gc.get_threshold()[2] >= 100
