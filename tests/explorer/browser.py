"""A headless Chromium for tests: clicks, keys, widths and screenshots over the DevTools protocol, through a pipe."""

from __future__ import annotations

import base64
import json
import os
import select
import shutil
import signal
import subprocess
from pathlib import Path
from typing import Any, Self

from tests.conftest import HANGS_S

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
CHROMIUM = next((path for name in NAMES if (path := shutil.which(name))), None)
OPTIONS = (
    *("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-extensions", "--no-first-run", "--hide-scrollbars"),
    *("--host-resolver-rules=MAP * ~NOTFOUND", "--disable-background-networking", "--remote-debugging-pipe"),
)
KEYS = {"Enter": 13, "Escape": 27, "Tab": 9, "ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40}


class Browser:
    """One tab of a browser; a context that ends the browser."""

    def __init__(self, profile: Path) -> None:
        assert CHROMIUM is not None
        reads, to_browser = os.pipe()
        from_browser, writes = os.pipe()
        # the browser reads commands from descriptor 3 and answers on 4
        command = f'exec 3<&{reads} 4>&{writes}; exec "$0" "$@"'
        self._process = subprocess.Popen(
            ["bash", "-c", command, CHROMIUM, *OPTIONS, f"--user-data-dir={profile}", "about:blank"],
            pass_fds=(reads, writes),
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        os.close(reads)
        os.close(writes)
        self._to, self._from = to_browser, from_browser
        self._kept, self._number, self._session = b"", 0, ""
        self.events: list[dict[str, Any]] = []
        targets = self.send("Target.getTargets")["targetInfos"]
        target = next(one["targetId"] for one in targets if one["type"] == "page")
        self._session = self.send("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.send(f"{domain}.enable")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        os.close(self._to)
        os.close(self._from)

    def send(self, method: str, **parameters: Any) -> dict[str, Any]:
        """The reply to a command; events until then are stored."""
        self._number += 1
        number = self._number
        message = {"id": number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._to, json.dumps(message).encode() + b"\0")
        while True:
            found = self._read()
            if found.get("id") == number:
                assert "error" not in found, (method, found["error"])
                answer: dict[str, Any] = found["result"]
                return answer
            self.events.append(found)

    def _read(self) -> dict[str, Any]:
        while b"\0" not in self._kept:
            ready, _, _ = select.select([self._from], [], [], HANGS_S)
            assert ready, "the browser hangs"
            part = os.read(self._from, 1 << 20)
            assert part, "the browser has ended"
            self._kept += part
        text, _, self._kept = self._kept.partition(b"\0")
        message: dict[str, Any] = json.loads(text)
        return message

    def open(self, page: Path, *, width: int = 1280, height: int = 900, dark: bool = False) -> None:
        """Open a file in a window of a given size, and wait until its script has finished."""
        self.events.clear()
        self.send("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.send("Emulation.setEmulatedMedia", features=[scheme])
        self.send("Page.navigate", url="about:blank")
        self.send("Page.navigate", url=page.as_uri())
        self.wait("document.documentElement.dataset.ready === 'yes'")

    def run(self, script: str) -> Any:
        """The value of an expression of JavaScript; waits for a promise."""
        found = self.send("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in found, found["exceptionDetails"]
        return found["result"].get("value")

    def wait(self, condition: str) -> None:
        """Wait, frame by frame, until an expression is true."""
        frames = """new Promise(done => { let left = 3000; const look = () => {
            let holds = false; try { holds = %s; } catch { holds = false; }
            if (holds) done(true); else if (!left--) done(false); else requestAnimationFrame(look); }; look(); })"""
        assert self.run(frames % f"Boolean({condition})"), condition

    def settle(self) -> None:
        """Wait until all effects of a change have been drawn."""
        self.run("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done))))")

    def box(self, selector: str) -> dict[str, float]:
        """The box of an element, scrolled into view."""
        script = f"(() => {{ const found = document.querySelector({json.dumps(selector)});"
        script += (
            "found.scrollIntoView({block: 'center', behavior: 'instant'}); const box = found.getBoundingClientRect();"
        )
        found: dict[str, float] = self.run(
            script + "return {x: box.x, y: box.y, width: box.width, height: box.height}; })()"
        )
        return found

    def mouse(self, kind: str, x: float, y: float, *, held: bool = False) -> None:
        button = "none" if kind == "mouseMoved" and not held else "left"
        self.send("Input.dispatchMouseEvent", type=kind, x=x, y=y, button=button, buttons=int(held), clickCount=1)

    def click_at(self, x: float, y: float) -> None:
        self.mouse("mouseMoved", x, y)
        self.mouse("mousePressed", x, y, held=True)
        self.mouse("mouseReleased", x, y)
        self.settle()

    def click(self, selector: str) -> None:
        """Click the middle of an element."""
        box = self.box(selector)
        self.click_at(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)

    def drag(self, start: tuple[float, float], end: tuple[float, float]) -> None:
        self.mouse("mouseMoved", *start)
        self.mouse("mousePressed", *start, held=True)
        for step in range(1, 6):
            at = [one + (other - one) * step / 5 for one, other in zip(start, end, strict=True)]
            self.mouse("mouseMoved", at[0], at[1], held=True)
        self.mouse("mouseReleased", *end)
        self.settle()

    def key(self, name: str) -> None:
        code = KEYS[name]
        text = {"text": "\r"} if name == "Enter" else {}
        for kind in ("keyDown", "keyUp"):
            self.send("Input.dispatchKeyEvent", type=kind, key=name, code=name, windowsVirtualKeyCode=code, **text)
        self.settle()

    def type(self, words: str) -> None:
        self.send("Input.insertText", text=words)
        self.settle()

    def choose(self, selector: str, value: str) -> None:
        """Choose an option of a select, whose list is drawn by the system and not by the page."""
        place = json.dumps(selector)
        self.run(
            f"(() => {{ const found = document.querySelector({place}); found.value = {json.dumps(value)};"
            "found.dispatchEvent(new Event('change', {bubbles: true})); })()"
        )
        self.settle()

    def text(self, selector: str) -> str:
        found: str = self.run(f"document.querySelector({json.dumps(selector)}).innerText")
        return found

    def faults(self) -> list[str]:
        """Exceptions and errors of the page since it was opened, and all its requests."""
        found = []
        for event in self.events:
            match event.get("method"):
                case "Runtime.exceptionThrown":
                    found.append(str(event["params"]["exceptionDetails"].get("exception", {}).get("description")))
                case "Log.entryAdded" if event["params"]["entry"]["level"] == "error":
                    found.append(event["params"]["entry"]["text"])
                case "Runtime.consoleAPICalled" if event["params"]["type"] in ("error", "warning"):
                    found.append(str(event["params"]["args"]))
                case "Network.requestWillBeSent":
                    url = event["params"]["request"]["url"]
                    if not url.startswith(("file:", "about:", "data:")):
                        found.append(url)
        return found

    def screenshot(self, path: Path, *, whole: bool = False) -> Path:
        shown = self.send("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        path.write_bytes(base64.b64decode(shown["data"]))
        return path
