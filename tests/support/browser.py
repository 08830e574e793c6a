"""A headless Chromium, driven through its DevTools protocol on a pipe, with the standard library alone. For tests and
scripts/screenshots."""

import base64
import itertools
import json
import os
import shutil
import subprocess
import tempfile
import time

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
FLAGS = ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--disable-extensions",
         "--disable-background-networking", "--disable-component-update", "--disable-sync", "--hide-scrollbars", "--mute-audio",
         "--remote-debugging-pipe")
LIMIT_S = 60


def find():
    """The path of a Chromium, or None."""
    return next(filter(None, map(shutil.which, NAMES)), None)


class Browser:
    def __init__(self, program=None):
        self.profile = tempfile.mkdtemp(prefix="dlb_browser_")
        to_browser, self.write_fd = os.pipe()
        self.read_fd, from_browser = os.pipe()
        # Chromium reads its commands from descriptor 3 and answers on 4.
        shell = 'exec "$@" 3<&%d 4>&%d' % (to_browser, from_browser)
        command = ["bash", "-c", shell, "bash", program or find(), *FLAGS, "--user-data-dir=" + self.profile, "about:blank"]
        self.process = subprocess.Popen(command, pass_fds=(to_browser, from_browser), stdin=subprocess.DEVNULL,
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(to_browser)
        os.close(from_browser)
        self.numbers, self.rest, self.events = itertools.count(1), b"", []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        try:
            self.call("Browser.close")
        except (OSError, RuntimeError):
            pass
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        os.close(self.write_fd)
        os.close(self.read_fd)
        shutil.rmtree(self.profile, ignore_errors=True)

    def message(self):
        while b"\0" not in self.rest:
            part = os.read(self.read_fd, 1 << 20)
            if not part:
                raise RuntimeError("the browser has ended")
            self.rest += part
        text, self.rest = self.rest.split(b"\0", 1)
        return json.loads(text)

    def call(self, method, session=None, **params):
        number = next(self.numbers)
        request = {"id": number, "method": method, "params": params}
        if session:
            request["sessionId"] = session
        os.write(self.write_fd, json.dumps(request).encode() + b"\0")
        while True:
            answer = self.message()
            if answer.get("id") == number:
                if "error" in answer:
                    raise RuntimeError("%s: %s" % (method, answer["error"]["message"]))
                return answer["result"]
            self.events.append(answer)

    def page(self, path, width=1280, height=900, dark=False):
        return Page(self, path, width, height, dark)


class Page:
    """A file, loaded. `errors`: what the console said, exceptions, and requests for anything but the file. `load_s`: CPU
    time of its thread until it was drawn; the wall clock would count other programs."""

    def __init__(self, browser, path, width, height, dark):
        self.browser = browser
        target = browser.call("Target.createTarget", url="about:blank")["targetId"]
        self.target, self.session = target, browser.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(domain + ".enable")
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600)
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])
        browser.events.clear()
        self.url = "file://" + os.path.abspath(path)
        self.call("Performance.enable", timeDomain="threadTicks")
        self.call("Page.navigate", url=self.url)
        self.wait("Page.loadEventFired")
        self.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(1))))")
        metrics = {row["name"]: row["value"] for row in self.call("Performance.getMetrics")["metrics"]}
        self.load_s = metrics["TaskDuration"]

    def call(self, method, **params):
        return self.browser.call(method, self.session, **params)

    def wait(self, method):
        end = time.monotonic() + LIMIT_S
        while not any(event.get("method") == method for event in self.browser.events):
            if time.monotonic() > end:
                raise RuntimeError("no %s in %d s" % (method, LIMIT_S))
            self.browser.events.append(self.browser.message())

    def evaluate(self, expression):
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(answer["exceptionDetails"].get("exception", {}).get("description", "an exception"))
        return answer["result"].get("value")

    @property
    def errors(self):
        out = []
        for event in self.browser.events:
            if event.get("sessionId") != self.session:
                continue
            method, params = event["method"], event["params"]
            if method == "Runtime.exceptionThrown":
                details = params["exceptionDetails"]
                out.append(details.get("exception", {}).get("description") or details["text"])
            elif method == "Runtime.consoleAPICalled":
                out.append("console: %s" % params["args"])
            elif method == "Log.entryAdded":
                out.append("log: " + params["entry"]["text"])
            elif method == "Network.requestWillBeSent" and not params["request"]["url"].startswith(("file://", "blob:", "data:")):
                out.append("request: " + params["request"]["url"])
            elif method == "Page.javascriptDialogOpening":
                out.append("dialog: " + params["message"])
        return out

    def screenshot(self, path, whole=True, clip=None):
        options = {"format": "png", "captureBeyondViewport": whole}
        if clip:
            options["clip"] = dict(clip, scale=1)
        elif whole:
            size = self.call("Page.getLayoutMetrics")["cssContentSize"]
            options["clip"] = {"x": 0, "y": 0, "width": size["width"], "height": size["height"], "scale": 1}
        with open(path, "wb") as file:
            file.write(base64.b64decode(self.call("Page.captureScreenshot", **options)["data"]))

    def pdf(self, path):
        with open(path, "wb") as file:
            file.write(base64.b64decode(self.call("Page.printToPDF", printBackground=True)["data"]))

    def close(self):
        self.browser.call("Target.closeTarget", targetId=self.target)
