"""The copies of templates that the launcher's cards open."""

import json
from pathlib import Path

import pytest

from dsportal.slurm.errors import OptionsError
from portal.server.templates.copies import copies_folder_name, copy_template
from portal.server.templates.source import TemplateSource

NAME = "tensorflow/digits.ipynb"
COPY = f"work/{NAME}"


def notebook(*sources: str, output: str = "") -> str:
    cells = [{"cell_type": "markdown", "metadata": {}, "source": [each]} for each in sources]
    outputs = [{"output_type": "stream", "name": "stdout", "text": [output]}] if output else []
    code = {"cell_type": "code", "metadata": {}, "outputs": outputs, "source": ["1"]}
    metadata = {"kernelspec": {"name": "elsewhere"}}
    return json.dumps({"cells": [*cells, code], "metadata": metadata, "nbformat": 4})


class Site:
    """A site's templates and one user's home."""

    def __init__(self, folder: Path) -> None:
        self.source = TemplateSource(path=folder / "site", below="")
        self.home = folder / "home"
        self.home.mkdir()
        self.release(NAME, notebook("# Digits"))

    def release(self, name: str, content: str) -> None:
        path = self.source.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)

    def files(self) -> set[str]:
        found = (path for path in (self.home / "work").rglob("*") if path.is_file())
        return {path.relative_to(self.home).as_posix() for path in found}

    def text(self, path: str = COPY) -> str:
        cells = json.loads((self.home / path).read_text())["cells"]
        return "".join(cells[0]["source"])


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return Site(tmp_path)


def test_a_copy_comes_with_the_files_that_its_notebook_reads(site: Site) -> None:
    site.release("tensorflow/other.ipynb", notebook("# Other"))
    site.release("tensorflow/layers.py", "x = 1")
    site.release("shared/pictures.py", "x = 2")
    site.release("pytorch/layers.py", "x = 3")
    site.release("README.md", "read me")

    made = copy_template([site.source], site.home, NAME)

    assert (made.path, made.beside) == (COPY, "")
    assert site.files() == {COPY, "work/tensorflow/layers.py", "work/shared/pictures.py"}


def test_a_template_at_the_top_is_copied_with_shared_modules_alone(site: Site) -> None:
    site.release("start.ipynb", notebook("# Start"))
    site.release("goals.toml", "")
    site.release("shared/pictures.py", "x = 2")

    copy_template([site.source], site.home, "start.ipynb")

    assert site.files() == {"work/start.ipynb", "work/shared/pictures.py"}


def test_a_template_of_a_site_is_copied_with_the_data_beside_it(tmp_path: Path, site: Site) -> None:
    site.release("course.ipynb", notebook("# Course"))
    site.release("data/points.csv", "1,2")
    course = TemplateSource(path=site.source.path, below="physics")

    made = copy_template([course], site.home, "physics/course.ipynb")

    assert made.path == "work/physics/course.ipynb"
    assert site.files() == {"work/physics/course.ipynb", "work/physics/data/points.csv"}


def test_a_new_release_comes_beside_an_edited_copy_once(site: Site) -> None:
    copy_template([site.source], site.home, NAME)
    (site.home / COPY).write_text(notebook("# Mine"))
    site.release(NAME, notebook("# Better digits"))

    made = copy_template([site.source], site.home, NAME)
    again = copy_template([site.source], site.home, NAME)

    assert (made.beside, again.beside) == ("work/tensorflow/digits.new.ipynb", "")
    assert (site.text(), site.text(made.beside)) == ("# Mine", "# Better digits")


def test_a_copy_names_the_kernel_that_runs_it_here(site: Site) -> None:
    spec = {"name": "site-tf", "display_name": "Site TF", "language": "python"}

    copy_template([site.source], site.home, NAME, spec)

    assert json.loads((site.home / COPY).read_text())["metadata"]["kernelspec"] == spec


@pytest.mark.parametrize(
    ("link", "in_the_copy"),
    [
        ("[a](resume.ipynb)", "[a](../../templates/tensorflow/resume.ipynb)"),
        ("[a](../data/b.ipynb#Files)", "[a](../../templates/data/b.ipynb#Files)"),
        ("[a](/templates/data/b.ipynb)", "[a](/templates/data/b.ipynb)"),
        ("[a](https://example.org/b.ipynb)", "[a](https://example.org/b.ipynb)"),
        ("[a](#Files) and [b](plot.png)", "[a](#Files) and [b](plot.png)"),
    ],
)
def test_links_of_a_copy_lead_where_those_of_the_template_do(
    site: Site, link: str, in_the_copy: str
) -> None:
    site.release(NAME, notebook(link))

    copy_template([site.source], site.home, NAME)

    assert site.text() == in_the_copy


def test_copies_are_not_put_into_shared_storage_of_the_same_name(site: Site) -> None:
    name = copies_folder_name({"work": Path("/srv/work")})

    made = copy_template([site.source], site.home, NAME, None, name)

    assert copies_folder_name({"isilon": Path("/srv/isilon")}) == "work"
    assert made.path == f"my-work/{NAME}"
    assert (site.home / made.path).exists()


def test_copies_may_be_on_larger_storage(site: Site, tmp_path: Path) -> None:
    (tmp_path / "scratch").mkdir()
    (site.home / "work").symlink_to(tmp_path / "scratch")

    copy_template([site.source], site.home, NAME)

    assert (tmp_path / "scratch" / NAME).exists()


@pytest.mark.parametrize("name", ["../secret", "/etc/passwd", "tensorflow/none.ipynb", ""])
def test_only_templates_can_be_copied(site: Site, tmp_path: Path, name: str) -> None:
    (tmp_path / "secret").write_text("secret")

    with pytest.raises(OptionsError, match="is no template of this site"):
        copy_template([site.source], site.home, name)


def test_a_file_in_the_place_of_the_copies_gets_a_sentence(site: Site) -> None:
    (site.home / "work").write_text("mine")

    with pytest.raises(OptionsError, match="Make room, or rename what is in the way"):
        copy_template([site.source], site.home, NAME)


def test_a_link_below_the_copies_is_not_followed(site: Site, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (site.home / "work").mkdir()
    (site.home / "work/tensorflow").symlink_to(tmp_path / "elsewhere")

    with pytest.raises(OptionsError, match="could not be copied to work"):
        copy_template([site.source], site.home, NAME)

    assert list((tmp_path / "elsewhere").iterdir()) == []
