"""Real JupyterLab and headless Chromium for the browser tests."""
import json
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SCREENSHOTS = ROOT / "test-results"
LAPTOP = {"width": 1366, "height": 768}
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
         "--disable-component-update", "--disable-sync"]
# Every cell is in the page, even far below (else a test cannot find it), and no question about news covers it.
LAB_SETTINGS = {
    "@jupyterlab/notebook-extension/tracker": {"windowingMode": "none"},
    "@jupyterlab/apputils-extension/notification": {"fetchNews": "false", "checkForUpdates": False},
}


@pytest.fixture(scope="module")   # no longer: while it lasts, playwright's event loop forbids other tests to run theirs
def chromium():
    """Headless Chromium. Without one, tests are skipped, but not in CI: skipped looks like passed."""
    names = ("chromium", "chromium-browser", "google-chrome")
    path = next(filter(None, map(shutil.which, names)), None)
    if path is None:
        (pytest.fail if os.environ.get("CI") else pytest.skip)(f"no browser: install one of {', '.join(names)}")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture
def page(chromium, lab, request):   # closed before the lab is
    """A page as large as a small laptop's screen. What it shows at the end is kept, good or bad."""
    page = chromium.new_page(viewport=LAPTOP)
    page.set_default_timeout(60_000)
    yield page
    SCREENSHOTS.mkdir(exist_ok=True)
    page.screenshot(path=SCREENSHOTS / f"{request.node.name}.png")
    page.close()


@pytest.fixture
def lab(tmp_path):
    """Starts JupyterLab on a free port, with folders of its own: `url, folder = lab(language)`."""
    started = []

    def start(language: str):
        folder = tmp_path / "lessons"
        folder.mkdir()
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        log = (tmp_path / "lab.log").open("w")
        server = subprocess.Popen(
            [sys.executable, "-m", "jupyter", "lab", "--no-browser", "--allow-root", "--ip=127.0.0.1", f"--port={port}",
             f"--ServerApp.root_dir={folder}", "--IdentityProvider.token=", "--ServerApp.password="],
            env=_environment(tmp_path, language), stdout=log, stderr=subprocess.STDOUT)
        started.append((server, log))
        url = f"http://127.0.0.1:{port}"
        _wait_for(url, server, tmp_path / "lab.log")
        return url, folder

    yield start
    for server, log in started:
        server.terminate()
        try:
            server.wait(20)
        except subprocess.TimeoutExpired:
            server.kill()
            server.wait()
        log.close()


def _environment(home: Path, language: str) -> dict:
    settings = home / "settings"
    for name, values in LAB_SETTINGS.items():
        path = settings / f"{name}.jupyterlab-settings"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(values))
    return os.environ | {
        "COURSE_LANG": language, "JUPYTERLAB_SETTINGS_DIR": str(settings),
        "JUPYTERLAB_WORKSPACES_DIR": str(home / "workspaces"),
        "JUPYTER_CONFIG_DIR": str(home / "config"), "JUPYTER_DATA_DIR": str(home / "data"),
        "JUPYTER_RUNTIME_DIR": str(home / "runtime"), "IPYTHONDIR": str(home / "ipython"),
    }


def _wait_for(url: str, server: subprocess.Popen, log: Path) -> None:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and server.poll() is None:
        try:
            with urllib.request.urlopen(f"{url}/api/status", timeout=5):
                return
        except OSError:
            time.sleep(0.2)
    pytest.fail(f"JupyterLab did not start:\n{log.read_text()[-3000:]}")
