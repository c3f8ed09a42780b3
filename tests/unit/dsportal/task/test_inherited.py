import pytest

from dsportal.task.inherited import inherited


@pytest.mark.parametrize(
    "name",
    [
        *("JUPYTERHUB_API_TOKEN", "JPY_API_TOKEN", "JUPYTER_TOKEN", "JUPYTERHUB_SSL_KEYFILE"),
        *("PORTAL_HUB_AUTHORITY", "PORTAL_SERVER_SOCKET", "JPY_SESSION_NAME"),
        *("PORTAL_KERNEL_ID", "PORTAL_KERNEL_JOB"),
    ],
)
def test_nothing_that_opens_the_session_goes_along(name):
    assert inherited({name: "secret", "HOME": "/home/ada"}) == {"HOME": "/home/ada"}


def test_what_a_kernel_sets_for_its_page_does_not_go_along():
    of_kernel = {
        "MPLBACKEND": "module://matplotlib_inline.backend_inline",
        **{"CLICOLOR": "1", "CLICOLOR_FORCE": "1", "FORCE_COLOR": "1"},
        **{"PAGER": "cat", "GIT_PAGER": "cat", "TERM": "xterm-color"},
    }

    assert inherited(of_kernel) == {}


def test_what_a_user_has_set_goes_along():
    own = {
        **{"MPLBACKEND": "Agg", "PAGER": "less", "TERM": "xterm-256color", "FORCE_COLOR": "0"},
        **{"WANDB_API_KEY": "mine", "PORTAL_GPUS_SIMULATED": "1", "SLURM_JOB_ID": "41"},
    }

    assert inherited(own) == own
