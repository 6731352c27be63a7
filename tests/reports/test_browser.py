"""The HTML report in a real browser: it draws without help from the network, says what it must, and fits the window.

Skipped where there is no Chromium on the machine; JAXMIGRATE_BROWSER names one that is not on the path.
"""

from __future__ import annotations

import base64
import contextlib
import html
import json
import os
import re
import shutil
import signal
import subprocess
from pathlib import Path

import pytest

from jaxmigrate.reports import verify_html
from tests.reports.evidence import full_report

SECONDS = 15
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
BROWSER = os.environ.get("JAXMIGRATE_BROWSER") or next((found for name in NAMES if (found := shutil.which(name))), None)

pytestmark = pytest.mark.skipif(BROWSER is None, reason="no Chromium on this machine to open the page in")

# The page forbids scripts, so that one around it asks the browser's layout of the page what stands where.
AROUND = """<!doctype html><style>body {{ margin: 0 }} iframe {{ border: 0; width: 100%; height: 900px }}</style>
<iframe srcdoc="{page}"></iframe>
<script>
const frame = document.querySelector("iframe");
frame.addEventListener("load", () => {{
  const page = frame.contentDocument, view = frame.contentWindow, root = page.documentElement;
  const shown = (element) => element.getClientRects().length > 0;
  const scrolls = (element) => ["auto", "scroll", "hidden"].includes(view.getComputedStyle(element).overflowX);
  const inside = (element) => element && element !== page.body && (scrolls(element) || inside(element.parentElement));
  const wide = [...page.body.querySelectorAll("*")].filter(
    (element) => shown(element) && !inside(element) && element.getBoundingClientRect().right > view.innerWidth + 1
  );
  const told = {{
    width: view.innerWidth, needed: root.scrollWidth,
    wide: wide.slice(0, 5).map((element) => element.outerHTML.slice(0, 120)),
    tables: [...page.querySelectorAll("table")].filter(shown).length,
    plots: [...page.querySelectorAll("svg")].filter(shown).map((svg) => svg.getBoundingClientRect().width > 50),
    text: page.body.innerText, loaded: view.performance.getEntriesByType("resource").map((entry) => entry.name),
  }};
  document.body.setAttribute("data-seen", btoa(unescape(encodeURIComponent(JSON.stringify(told)))));
}});
</script>"""


def seen(page: str, folder: Path, width: int) -> tuple[dict[str, object], str]:
    """What the browser made of a page in a window of a width, and what it complained of."""
    path = folder / "report.html"
    path.write_text(AROUND.format(page=html.escape(page)), encoding="utf-8")
    command = [
        *(
            str(BROWSER),
            "--headless=new",
            "--no-sandbox",
            "--disable-gpu",
            "--hide-scrollbars",
            "--enable-logging=stderr",
        ),
        *(
            f"--user-data-dir={folder / 'profile'}",
            f"--window-size={width},900",
            "--host-resolver-rules=MAP * ~NOTFOUND",
        ),
        *("--dump-dom", path.as_uri()),
    ]
    out, err = folder / "out", folder / "err"
    with out.open("wb") as stdout, err.open("wb") as stderr:
        started = subprocess.Popen(command, stdout=stdout, stderr=stderr, start_new_session=True)
        try:
            status = started.wait(SECONDS)
        except subprocess.TimeoutExpired:
            pytest.skip(f"{BROWSER} did not answer within {SECONDS} seconds, as on a machine that is busy")
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(started.pid, signal.SIGKILL)  # what it has started goes with it
            started.wait()
    printed, told = out.read_text(encoding="utf-8"), err.read_text(encoding="utf-8", errors="replace")
    assert status == 0, told[-2000:]
    found = re.search(r'data-seen="([^"]+)"', printed)
    assert found is not None, printed[-2000:]
    complaints = "\n".join(line for line in told.splitlines() if "CONSOLE" in line)
    return json.loads(_decoded(found[1])), complaints


def _decoded(text: str) -> str:
    return base64.b64decode(text).decode("utf-8")


@pytest.mark.parametrize("width", [500, 1280])
def test_a_report_with_everything_in_it(tmp_path: Path, width: int) -> None:
    found, complaints = seen(verify_html.write(full_report()), tmp_path, width)
    assert complaints == ""
    assert found["loaded"] == []
    assert found["wide"] == []
    assert found["needed"] == found["width"]
    assert found["tables"]
    assert isinstance(found["plots"], list)
    assert found["plots"]
    assert all(found["plots"])
    text = " ".join(str(found["text"]).split())
    for said in ("Different", "8 times the original", "not exercised", "<evaluate> & co", "python train.py"):
        assert said in text
