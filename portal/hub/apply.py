"""Applies portal.toml to JupyterHub's configuration."""

from __future__ import annotations

from functools import partial
from typing import Any

from portal.hub.admin.api import operation_routes
from portal.hub.admin.gpu_use import gpu_use_route
from portal.hub.admin.people import people_routes
from portal.hub.admin.tokens import PROXY, ensure_token, site_services, token_path
from portal.hub.admin.usage_page import usage_route
from portal.hub.admin.visits import log_visits, visit_route
from portal.hub.apply_login import apply_login
from portal.hub.auth.client_address import parse_networks
from portal.hub.auth.roles import administrator_roles
from portal.hub.form import handlers
from portal.hub.form.form import make_options_form
from portal.hub.hubs.placement import Hubs
from portal.hub.hubs.transfer import arrival_route
from portal.hub.log.json_formatter import JSON_LOGGING
from portal.hub.log.secret_filter import SECRET_LOGGING
from portal.hub.mail.given_back import given_back_route
from portal.hub.mail.setup import (
    address_variables,
    messages_routes,
    watch_sessions,
)
from portal.hub.messages.announcements import Announcement, AnnouncementBoard, Level
from portal.hub.messages.drain import shared_drain
from portal.hub.messages.stop_notices import shared_notices
from portal.hub.network import http_server, refusals
from portal.hub.network.gate import GuardSettings
from portal.hub.network.refusals import HubStaticHandler
from portal.hub.pages import error_sentences
from portal.hub.pages.administration import administration_routes
from portal.hub.pages.base import (
    HEADERS,
    STATIC_DIR,
    TEMPLATES_DIR,
    PortalView,
    cookie_options,
    static_route,
)
from portal.hub.pages.class_page import class_route, classes_of
from portal.hub.pages.cluster_handlers import cluster_routes
from portal.hub.pages.failure_view import describe_ending, describe_failure
from portal.hub.pages.gpu_record import GpuRecord
from portal.hub.pages.help import help_routes
from portal.hub.pages.home import HomePage
from portal.hub.pages.session_state import describe_request, describe_session
from portal.hub.pages.sign_out import sign_out_route
from portal.hub.pages.start_view import describe_start
from portal.hub.pages.stop_handler import stop_route
from portal.hub.pages.suspension import describe_suspensions
from portal.hub.pages.time_tags import render_moment
from portal.hub.pages.tokens_view import describe_tokens
from portal.hub.process import prepare_process
from portal.hub.session_environment import public_variables, session_settings
from portal.hub.settings.hub import LogFormat
from portal.hub.settings.loader import Settings
from portal.hub.sharing.grants import shared_grants
from portal.hub.sharing.rights_api import guest_route
from portal.hub.sharing.shares import end_shares, key_of, share_routes
from portal.response_headers import PlainHeaders
from spawner.hub.patches.orm_user import load_relations_at_use
from spawner.hub.patches.scopes import count_groups
from spawner.hub.patches.user_dict import count_seldom
from spawner.hub.session_mixin import SessionMixin

SECONDS_PER_DAY = 24 * 3600


def apply_settings(c: Any, settings: Settings) -> None:
    """Set every trait of the configuration object `c` that portal.toml decides.

    Each value is set, never appended to, so that applying twice changes nothing.

    Raises:
        SystemExit: If another hub uses the state_dir or the database, or the folder of all hubs
            cannot be trusted.
    """
    hubs = Hubs.of(settings)
    prepare_process(settings.hub, hubs)
    _apply_hub(c, settings)
    _apply_pages(c, settings, hubs)
    apply_login(c, settings, hubs)
    _apply_spawner(c, settings, hubs)


def _apply_hub(c: Any, settings: Settings) -> None:
    hub = settings.hub
    c.JupyterHub.bind_url = f"http://:{hub.public_port}{hub.base_url}"
    # The hub itself sees plain HTTP from the proxy; this tells it of TLS.
    public_url = hub.public_url.rstrip("/")
    c.JupyterHub.public_url = f"{public_url}{hub.base_url}" if public_url else ""
    c.JupyterHub.subdomain_host = hub.subdomain_host.rstrip("/")
    c.JupyterHub.hub_bind_url = hub.url
    c.JupyterHub.hub_connect_url = hub.url
    c.JupyterHub.proxy_class = "portal.hub.network.proxy.SessionProxy"
    # The proxy is a service of its own, so that it outlives the hub.
    c.ConfigurableHTTPProxy.should_start = False
    c.ConfigurableHTTPProxy.api_url = hub.proxy_api_url
    ensure_token(hub.state_dir, PROXY)
    c.SessionProxy.token_path = str(token_path(hub.state_dir, PROXY))
    # Sessions and the proxy outlive a restart of the hub.
    c.JupyterHub.cleanup_servers = False
    c.JupyterHub.cleanup_proxy = False
    # No limit: to JupyterHub a session that waits in Slurm's queue is a start all the while.
    c.JupyterHub.concurrent_spawn_limit = 0
    c.JupyterHub.db_url = hub.sqlalchemy_url
    c.JupyterHub.cookie_secret_file = f"{hub.state_dir}/cookie_secret"
    c.JupyterHub.allow_named_servers = settings.choices.sessions_per_user > 1
    # The session without a name does not count as one of these.
    c.JupyterHub.named_server_limit_per_user = max(1, settings.choices.sessions_per_user - 1)
    # After the login users see the server page; a session starts only when they ask for it.
    c.JupyterHub.redirect_to_server = False
    c.JupyterHub.implicit_spawn_seconds = 0
    c.JupyterHub.oauth_require_pkce = True
    c.JupyterHub.token_expires_in_max_seconds = hub.token_days * SECONDS_PER_DAY
    c.JupyterHub.services, roles = site_services(hub.state_dir)
    c.JupyterHub.load_roles = [*roles, *administrator_roles(hub)]
    is_json = hub.log_format is LogFormat.JSON
    c.JupyterHub.logging_config = SECRET_LOGGING | (JSON_LOGGING if is_json else {})


def _apply_pages(c: Any, settings: Settings, hubs: Hubs | None) -> None:
    c.JupyterHub.template_paths = [str(TEMPLATES_DIR)]
    notices_path = settings.hub.state_dir / "notices.json"
    board = AnnouncementBoard(settings.site.announcements)
    drain = shared_drain(settings.hub.state_dir / "drain.json")
    grants_path = settings.hub.state_dir / "guests.json"

    def announced() -> tuple[Announcement, ...]:
        return (*drain.announcements(), *board.current)

    # Sessions show only what may affect them; the hub's own pages show all levels.
    c.SlurmGPUSpawner.session_notices = lambda: [
        one.text for one in announced() if one.level is not Level.INFO
    ]
    c.SlurmGPUSpawner.session_refusal = lambda: drain.message
    home = HomePage(
        places=settings.site_storage,
        warning_percent=settings.storage.warning_percent,
        sessions_per_user=settings.choices.sessions_per_user,
        notices=shared_notices(notices_path),
        gpu_record=GpuRecord(settings.hub.gpu_record_path),
        offers_sharing=settings.sharing.enabled,
        grants=shared_grants(grants_path),
    )
    # JupyterHub calls a callable with the user, so functions have to be wrapped.
    c.JupyterHub.template_vars = {
        "announcements": lambda user: (
            *(Announcement(text=text, level=Level.WARNING) for text in describe_suspensions(user)),
            *announced(),
        ),
        "elsewhere": lambda user: hubs.elsewhere(user) if hubs else "",
        "other_hubs": [path for path in settings.hubs.paths if path != settings.hub.base_url],
        "classes_of": lambda _user: partial(classes_of, settings.groups),
        "describe_home": lambda _user: home.describe,
        "moment": lambda _user: render_moment,
        "sends_messages": settings.sends_messages,
        "portal": PortalView.of(settings.site, settings.hub),
        "describe_session": lambda _user: describe_session,
        "describe_request": lambda _user: describe_request,
        "describe_start": lambda _user: describe_start,
        "describe_tokens": lambda _user: describe_tokens,
        "describe_ending": lambda _user: describe_ending,
        "describe_failure": lambda _user: describe_failure,
        "explain_error": lambda _user: error_sentences.explain,
    }
    c.JupyterHub.logo_file = str(STATIC_DIR / "logo.svg")
    c.JupyterHub.extra_handlers = [
        static_route(),
        handlers.choices_route(),
        stop_route(),
        *share_routes(is_offered=settings.sharing.enabled, grants_path=grants_path),
        guest_route(grants_path),
        sign_out_route(),
        *([arrival_route(hubs)] if hubs else []),
        *help_routes(),
        visit_route(),
        given_back_route(),
        *cluster_routes(notices_path=notices_path),
        class_route(settings.groups),
        *messages_routes(settings),
        usage_route(settings.hub.gpu_record_path, settings.addresses),
        gpu_use_route(settings.hub.gpu_record_path),
        *administration_routes(notices_path=notices_path),
        *operation_routes(notices_path=notices_path, drain_path=drain.path),
        *people_routes(notices_path=notices_path, drain_path=drain.path),
    ]
    # Before JupyterHub collects its routes, and makes its HTTP server.
    handlers.register()
    http_server.register()
    refusals.register()
    error_sentences.register()
    count_groups()
    load_relations_at_use()
    count_seldom()
    c.JupyterHub.tornado_settings = {
        "headers": dict(HEADERS),
        "cookie_options": cookie_options(settings.hub.public_url),
        "log_function": log_visits,
        http_server.GUARDED: GuardSettings(
            traffic=settings.traffic,
            trusted=parse_networks(settings.hub.trusted_proxies),
        ),
        "static_handler_class": HubStaticHandler,
        "transforms": [PlainHeaders],
    }


def _apply_spawner(c: Any, settings: Settings, hubs: Hubs | None) -> None:
    hub = settings.hub
    c.JupyterHub.spawner_class = "spawner.spawner.SlurmGPUSpawner"
    spawner = c.SlurmGPUSpawner
    spawner.update(_of_cluster(settings))
    spawner.clusters = {
        name: {**_of_cluster(there), "slurm_title": own.title, "slurm_conf": str(own.slurm_conf)}
        for name, (own, there) in settings.clusters.items()
    }
    spawner.hub_connect_url = hub.sessions_url
    if hub.internal_tls:
        spawner.certificates_dir = str(hub.certificates_dir)
    spawner.forecast_path = str(hub.state_dir / "forecasts.json")
    if hubs:
        spawner.answers_dir = str(hubs.folder / "slurm")
    spawner.pages = settings.pages
    watch_sessions(spawner, settings)
    spawner.options_form = make_options_form(
        simulated_gpus=settings.site.simulated_gpus, wait_s=settings.forecast.wait_s
    )
    drain = shared_drain(hub.state_dir / "drain.json")
    grants = shared_grants(hub.state_dir / "guests.json")

    def before_start(spawner: SessionMixin) -> None:
        drain.refuse(spawner)
        if hubs:
            hubs.refuse(spawner)
        # Again, in case the hub was away when the session before this one ended.
        end_shares(spawner, grants)
        if settings.sharing.enabled:
            grants.begin(key_of(spawner))

    def after_stop(spawner: SessionMixin) -> None:
        # JupyterHub keeps shares with the session's name, also over its end.
        end_shares(spawner, grants)
        if hubs:
            hubs.hand_over(spawner)

    spawner.pre_spawn_hook = before_start
    spawner.post_stop_hook = after_stop


def _of_cluster(settings: Settings) -> dict[str, Any]:
    return settings.trait_values | {
        "server_argv": [settings.environments.server_program],
        "preflight": settings.start_checks,
        "session_settings": session_settings(settings),
        "environment": public_variables(settings) | address_variables(settings),
    }
