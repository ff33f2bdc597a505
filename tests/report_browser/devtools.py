"""A headless Chromium, driven over its DevTools protocol through a pair of pipes, without a library or a port.

It records what a page does while it is open: requests, console errors and exceptions.
"""
import base64
import fcntl
import json
import os
import shutil
import subprocess
import tempfile
import time

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
ANSWER_SECONDS = 60


def find_chromium():
    return next((path for path in map(shutil.which, NAMES) if path), None)


def high(descriptor):
    """Moves the end of a pipe to a descriptor other than 3 and 4, which Chromium reads and writes."""
    moved = fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, 10)
    os.close(descriptor)
    return moved


class Browser:
    def __init__(self, program):
        self.profile = tempfile.mkdtemp(prefix="epochbench-chromium-")
        to_child, self.commands = map(high, os.pipe())
        self.answers, from_child = map(high, os.pipe())

        def give_pipes():
            os.dup2(to_child, 3)
            os.dup2(from_child, 4)

        # The sandbox does not work as root, as in a container; the page is our own.
        self.process = subprocess.Popen(
            [program, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
             "--disable-background-networking", "--disable-component-update", "--disable-sync", "--remote-debugging-pipe",
             f"--user-data-dir={self.profile}", "about:blank"],
            preexec_fn=give_pipes, close_fds=True, pass_fds=(3, 4), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL, start_new_session=True)
        os.close(to_child)
        os.close(from_child)
        self.buffer, self.number, self.session = b"", 0, None
        self.requests, self.errors = [], []
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.ask(f"{domain}.enable")
        self.ask("Performance.enable", timeDomain="threadTicks")

    def close(self):
        try:
            self.session = None
            self.ask("Browser.close")
        except (OSError, EOFError, RuntimeError):
            pass
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        os.close(self.commands)
        os.close(self.answers)
        shutil.rmtree(self.profile, ignore_errors=True)

    def ask(self, method, **parameters):
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self.commands, data):]
        deadline = time.monotonic() + ANSWER_SECONDS
        while time.monotonic() < deadline:
            answer = self.next_message()
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']['message']}")
                return answer["result"]
        raise RuntimeError(f"{method}: no answer within {ANSWER_SECONDS} s")

    def next_message(self):
        while b"\0" not in self.buffer:
            block = os.read(self.answers, 1 << 20)
            if not block:
                raise EOFError("Chromium has exited")
            self.buffer += block
        text, _, self.buffer = self.buffer.partition(b"\0")
        message = json.loads(text)
        self.note(message.get("method"), message.get("params", {}))
        return message

    def note(self, event, details):
        if event == "Network.requestWillBeSent":
            self.requests.append(details["request"]["url"])
        elif event == "Runtime.exceptionThrown":
            self.errors.append(details["exceptionDetails"].get("exception", {}).get("description", "an exception"))
        elif event == "Runtime.consoleAPICalled" and details["type"] in ("error", "warning", "assert"):
            self.errors.append(" ".join(str(part.get("value")) for part in details["args"]))
        elif event == "Log.entryAdded" and details["entry"]["level"] in ("error", "warning"):
            self.errors.append(details["entry"]["text"])

    def evaluate(self, expression):
        """The value of an expression in the page; promises are awaited."""
        answer = self.ask("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(answer["exceptionDetails"]["exception"].get("description", expression))
        return answer["result"].get("value")

    def open(self, path, width=1280, height=900, dark=False):
        """Opens a file and waits until it has been painted. Returns the seconds that took."""
        self.view(width, height, dark)
        self.requests.clear()
        self.errors.clear()
        begin = time.monotonic()
        self.ask("Page.navigate", url=path.as_uri())
        self.evaluate("""new Promise((done) => {
          const there = () => document.readyState === 'complete' && location.protocol === 'file:';
          const look = () => there() ? requestAnimationFrame(() => requestAnimationFrame(done)) : setTimeout(look, 20);
          look(); })""")
        return time.monotonic() - begin

    def busy_seconds(self):
        """CPU time of the page's main thread."""
        metrics = self.ask("Performance.getMetrics")["metrics"]
        return next(metric["value"] for metric in metrics if metric["name"] == "TaskDuration")

    def view(self, width, height, dark=False, media=""):
        self.ask("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        self.ask("Emulation.setEmulatedMedia", media=media,
                 features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])

    def settle(self):
        """Waits until layout and observers have run."""
        self.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done, 50))))")

    def screenshot(self, path, whole=True):
        shot = self.ask("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        path.write_bytes(base64.b64decode(shot["data"]))

    def pdf(self, path):
        path.write_bytes(base64.b64decode(self.ask("Page.printToPDF", printBackground=True)["data"]))

    def press(self, key):
        text = "\r" if key == "Enter" else ""
        for kind in ("keyDown", "keyUp"):
            self.ask("Input.dispatchKeyEvent", type=kind, key=key, code=key, text=text if kind == "keyDown" else "",
                     windowsVirtualKeyCode={"Enter": 13, "Tab": 9}[key])
