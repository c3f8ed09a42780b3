"""Jupyter's contents interface on the site's S3 store: buckets are its top folders."""

import base64
import io
import json
import mimetypes
from typing import Any

import nbformat
from jupyter_server.services.contents.manager import AsyncContentsManager
from tornado.web import HTTPError

from portal.server.s3.errors import S3Error, S3NotFoundError
from portal.server.s3.store import Entry, Store

# What opens in a tab is held several times in the memory of server and browser.
MOST_OPENED_BYTES = 64 * 1024 * 1024


class S3Contents(AsyncContentsManager):
    """What Jupyter's own handlers of `api/contents` ask, answered by S3.

    S3 has no folders: a key that ends with "/" stands for one, and so does the beginning of keys.
    """

    def __init__(self, store: Store, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._store = store

    async def get(
        self,
        path: str,
        content: bool = True,
        type: str | None = None,
        format: str | None = None,
        require_hash: bool = False,
    ) -> dict[str, Any]:
        """Return Jupyter's model of what `path` names.

        `type`, `format` and `require_hash` are Jupyter's; S3's own mark of a content is its hash.
        """
        bucket, key = split(path)
        if not key:
            return await self._folder_model(path, content=content)
        if type != "directory":
            entry = await self._ask(lambda: self._store.look(bucket, key))
            if entry is not None:
                return await self._file_model(path, entry, content=content, form=format, kind=type)
            if type is not None:
                raise _not_there(path)
        return await self._folder_model(path, content=content)

    async def save(self, model: dict[str, Any], path: str = "") -> dict[str, Any]:
        """Write a file, or the mark of a folder; `model` is Jupyter's."""
        bucket, key = split(path)
        if not key:
            raise HTTPError(400, "Buckets cannot be made here. Ask the operators of the S3 store.")
        if "chunk" in model:
            raise HTTPError(400, "Large files go to portal/api/s3/uploads.")
        self.run_pre_save_hooks(model=model, path=path)
        kind = model.get("type")
        if kind == "directory":
            await self._write(bucket, f"{key}/", b"")
            return _directory(path, content=None)
        if kind == "notebook":
            notebook = nbformat.from_dict(model["content"])
            self.check_and_sign(notebook, path)
            data = nbformat.writes(notebook, version=nbformat.NO_CONVERT).encode()
        else:
            data = _decode(model)
        await self._write(bucket, key, data)
        return await self.get(path, content=False)

    async def delete(self, path: str) -> None:
        """Delete a file, or an empty folder. S3 has no trash."""
        bucket, key = split(path.strip("/"))
        if not key:
            raise HTTPError(
                400, "Buckets cannot be removed here. Ask the operators of the S3 store."
            )
        if await self._ask(lambda: self._store.look(bucket, key)) is not None:
            await self._ask(lambda: self._store.remove(bucket, key))
            return
        await self._check_empty(bucket, f"{key}/", "deleted")
        await self._ask(lambda: self._store.remove(bucket, f"{key}/"))

    async def rename(self, old_path: str, new_path: str) -> None:
        """Move a file, or an empty folder. S3 copies and then removes it."""
        (bucket, key), (new_bucket, new_key) = split(old_path), split(new_path)
        if not key or not new_key:
            raise HTTPError(400, "Buckets cannot be renamed.")
        if await self.exists(new_path):
            raise HTTPError(409, f"{new_path} already exists.")
        if await self._ask(lambda: self._store.look(bucket, key)) is None:
            key, new_key = f"{key}/", f"{new_key}/"
            await self._check_empty(bucket, key, "renamed or moved")
            await self._write(new_bucket, new_key, b"")
        else:
            await self._ask(lambda: self._store.copy(bucket, key, new_bucket, new_key))
        await self._ask(lambda: self._store.remove(bucket, key))

    async def file_exists(self, path: str = "") -> bool:
        """Return whether there is a file."""
        bucket, key = split(path)
        return bool(key) and await self._ask(lambda: self._store.look(bucket, key)) is not None

    async def dir_exists(self, path: str) -> bool:
        """Return whether there is a folder or bucket."""
        bucket, key = split(path)
        if not bucket:
            return True
        prefix = f"{key}/" if key else ""
        return bool(await self._ask(lambda: self._store.is_folder(bucket, prefix)))

    async def is_hidden(self, path: str) -> bool:
        """Return whether a part of the path begins with a dot."""
        return any(part.startswith(".") for part in path.strip("/").split("/"))

    async def _folder_model(self, path: str, *, content: bool) -> dict[str, Any]:
        bucket, key = split(path)
        if not content:
            if not await self.dir_exists(path):
                raise _not_there(path)
            return _directory(path, content=None)
        if not bucket:
            entries, is_cut = await self._ask(self._store.buckets), False
        else:
            prefix = f"{key}/" if key else ""
            entries, is_cut = await self._ask(lambda: self._store.list_folder(bucket, prefix))
        shown = [
            self._entry_model(f"{path.strip('/')}/{entry.name}".strip("/"), entry)
            for entry in entries
            if self.allow_hidden or not entry.name.startswith(".")
        ]
        return {**_directory(path, content=shown), "is_cut": is_cut}

    def _entry_model(self, path: str, entry: Entry) -> dict[str, Any]:
        if entry.size_bytes is None:
            return {**_directory(path, content=None), "last_modified": entry.modified}
        kind = "notebook" if entry.name.endswith(".ipynb") else "file"
        return {
            **_model(path, kind),
            "created": entry.modified,
            "last_modified": entry.modified,
            "size": entry.size_bytes,
            "hash": entry.etag,
            "hash_algorithm": "etag",
        }

    async def _file_model(
        self, path: str, entry: Entry, *, content: bool, form: str | None, kind: str | None
    ) -> dict[str, Any]:
        model = self._entry_model(path, entry)
        if kind == "file":
            model["type"] = "file"
        if not content:
            return model
        size_mib = (entry.size_bytes or 0) / 2**20
        if (entry.size_bytes or 0) > MOST_OPENED_BYTES:
            raise HTTPError(
                413,
                f"{entry.name} has {size_mib:.0f} MiB, and at most {MOST_OPENED_BYTES // 2**20} MiB"
                " are opened in a tab. Download it, or read it in a cell.",
            )
        bucket, key = split(path)
        data = await self._ask(lambda: self._store.read(bucket, key))
        if model["type"] == "notebook":
            return self._with_notebook(model, data)
        text = None if form == "base64" else _text(data)
        if text is None and form == "text":
            raise HTTPError(400, f"{entry.name} is no text in UTF-8. Download it.")
        # As Jupyter's own: by its name, which viewers of images go by.
        kind_of_name = mimetypes.guess_type(entry.name)[0]
        if text is None:
            plain = {"content": base64.encodebytes(data).decode("ascii"), "format": "base64"}
            return {**model, **plain, "mimetype": kind_of_name or "application/octet-stream"}
        kind_of_name = kind_of_name or "text/plain"
        return {**model, "content": text, "format": "text", "mimetype": kind_of_name}

    def _with_notebook(self, model: dict[str, Any], data: bytes) -> dict[str, Any]:
        try:
            notebook = nbformat.reads(data.decode(), as_version=4)
        except (ValueError, nbformat.reader.NotJSONError) as error:
            raise HTTPError(400, f"{model['name']} is no notebook: {error}") from error
        self.mark_trusted_cells(notebook, model["path"])
        model |= {"content": notebook, "format": "json"}
        self.validate_notebook_model(model)
        return model

    async def _check_empty(self, bucket: str, prefix: str, what: str) -> None:
        if not await self._ask(lambda: self._store.is_folder(bucket, prefix)):
            raise _not_there(f"{bucket}/{prefix}")
        if not await self._ask(lambda: self._store.is_empty(bucket, prefix)):
            raise HTTPError(
                400,
                f"{prefix.rstrip('/')} is not empty. Only empty folders of S3 are {what} here: S3"
                " would do it file by file, and has no trash.",
            )

    async def _write(self, bucket: str, key: str, data: bytes) -> None:
        await self._ask(lambda: self._store.write(bucket, key, io.BytesIO(data), len(data)))

    async def _ask(self, work: Any) -> Any:
        try:
            return await self._store.run(work)
        except S3Error as error:
            raise HTTPError(error.http_status, error.message) from error


def split(path: str) -> tuple[str, str]:
    """Return bucket and key of a path; both are empty for the top."""
    bucket, _, key = path.strip("/").partition("/")
    if any(part in {".", ".."} for part in (bucket, *key.split("/"))):
        raise S3NotFoundError("S3 has no folders '.' and '..'.")
    return bucket, key


def _model(path: str, kind: str) -> dict[str, Any]:
    path = path.strip("/")
    return {
        "name": path.rpartition("/")[2],
        "path": path,
        "type": kind,
        "writable": True,
        "created": Entry(name="").modified,
        "last_modified": Entry(name="").modified,
        "mimetype": None,
        "content": None,
        "format": None,
        "size": None,
        "hash": "",
        "hash_algorithm": "",
    }


def _directory(path: str, content: list[dict[str, Any]] | None) -> dict[str, Any]:
    form = None if content is None else "json"
    return {**_model(path, "directory"), "content": content, "format": form}


def _decode(model: dict[str, Any]) -> bytes:
    content = model.get("content")
    if model.get("format") == "base64":
        return base64.b64decode(content or "")
    # JupyterLab sends the content of JSON files as it parsed it.
    return (content if isinstance(content, str) else json.dumps(content)).encode()


def _text(data: bytes) -> str | None:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return None


def _not_there(path: str) -> HTTPError:
    return HTTPError(404, f"{path} no longer exists. Reload the list.")
