"""Where a cursor is in a notebook, of the positions that Yjs writes; with the sessions' pycrdt."""

import json
import subprocess

from tests.support.checkout import PYTHONPATH
from tests.support.notebook_server import server_python

# A notebook of three cells; a guest inserts into the second one, whose text is not ASCII.
PROGRAM = """
import json
from types import SimpleNamespace
from pycrdt import Array, Assoc, Doc, Map, StickyIndex, Text
from portal.server.reading.people import find_cursors

class Room:
    ydoc, awareness = Doc(client_id=5), SimpleNamespace(states={})

room = Room()
room.ydoc["cells"] = cells = Array()
for text in ("zzz", "b'é🙂'x", ""):
    cells.append(Map({"source": Text(text)}))
room._document = SimpleNamespace(ycells=cells)

def find(**head):
    head = {"type": None, "tname": None, "item": None, "assoc": 0, **head}
    room.awareness.states[1] = {"user": {"name": "ada"}, "cursors": [{"head": head}]}
    return [[one.cell, one.offset] for one in find_cursors(room)]

def items():
    return [find(item={"client": 5, "clock": first + n}) for n in range(7)]

first = StickyIndex.new(cells[1]["source"], 0, Assoc.AFTER).to_json()["item"]["clock"]
kinds = [StickyIndex.new(cell["source"], 0, Assoc.BEFORE).to_json()["type"] for cell in cells]
found = {"items": items(), "ends": [find(type=kind) for kind in kinds]}
guest = Doc(client_id=9)
guest.apply_update(room.ydoc.get_update())
guest.get("cells", type=Array)[1]["source"].insert(len("b'é".encode()), "ÄÖ")
room.ydoc.apply_update(guest.get_update())
found["moved"] = items()
found["inserted"] = find(item={"client": 9, "clock": 1})
odd = ({"client": 77, "clock": 1}, {"client": 5, "clock": 10**6}, {"client": "a"}, "a", None)
found["odd"] = [find(item=item) for item in odd]
del cells[1]
found["deleted"] = [find(item={"client": 5, "clock": first}) for _ in range(3)]
print(json.dumps(found))
"""


def test_each_position_is_found_as_javascript_counts_or_left_out() -> None:
    done = subprocess.run(
        [server_python(), "-c", PROGRAM],
        env={"PYTHONPATH": PYTHONPATH, "LANG": "C.UTF-8"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["items"] == [[[1, before]] for before in range(7)]
    assert found["ends"] == [[[0, 3]], [[1, 7]], [[2, 0]]]
    assert found["moved"] == [[[1, before]] for before in (0, 1, 2, 5, 6, 7, 8)]
    assert found["inserted"] == [[1, 4]]
    assert found["odd"] == [[]] * 5
    assert found["deleted"] == [[]] * 3
    # What is deleted is tried once.
    assert done.stderr.count("panicked") == 1
