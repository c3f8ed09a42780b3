"""The administrators' guide as a test follows it: its blocks, and the edits that they show."""

from tests.lab.foreign.guide import SECTIONS, Step, edited, read_guide, steps_of

EXAMPLE = """\
# Top.

[hub]
# Where.
address = "10.77.0.1"
# public_url = ""

[partitions.jupyter]
# cores_per_gpu = 0

[storage]
# isilon = "/srv/isilon"
"""


def step(language: str, text: str) -> Step:
    return Step(section="", language=language, path="/x", text=text)


def test_every_block_to_be_run_is_in_a_section_that_the_test_follows() -> None:
    found = [step.section for step in steps_of(read_guide(), {"none": "none"})]

    assert set(found) == set(SECTIONS)


def test_values_of_the_site_stand_for_whole_words_of_the_guide() -> None:
    guide = "# A\n```sh run\nuse users /srv/isilon/x \\\n  superusers\n```\n"

    (found,) = steps_of(guide, {"users": "science", "/srv/isilon": "/ifs"})

    assert found.commands == ["use science /ifs/x    superusers"]


def test_settings_are_edited_as_by_hand() -> None:
    wanted = '[hub]\naddress = "10.1.1.1"\npublic_url = "https://x"\n\n[partitions.gpu]\n'

    text = edited(EXAMPLE, step("toml", wanted))

    assert 'address = "10.1.1.1"\npublic_url = "https://x"\n' in text
    assert '# isilon = "/srv/isilon"' in text
    assert "[partitions.gpu]" in text
    assert "jupyter" not in text


def test_partitions_stay_where_a_later_edit_names_none() -> None:
    text = edited(EXAMPLE, step("toml", '[hub]\naddress = "10.1.1.1"\n'))

    assert "[partitions.jupyter]" in text


def test_a_line_of_nginx_is_set_wherever_it_stands() -> None:
    text = "server {\n    server_name a;\n}\nserver {\n    server_name a;\n    listen 80;\n}\n"

    assert edited(text, step("nginx", "server_name b;\n")).count("    server_name b;\n") == 2
