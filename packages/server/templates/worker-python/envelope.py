"""The envelope of Sallyport workers: POST /run and GET /healthz, with the standard library only.

Every failure that is handled is HTTP 200 with an error envelope. A tool is a function of its input and a Context.
"""

import hmac
import io
import ipaddress
import json
import os
import re
import signal
import sys
import threading
import time
import traceback
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

MAX_REQUEST_BYTES = 4 * 1024 * 1024
# The rest of a larger body is read and dropped up to here, so that the sender can read the answer.
MAX_DROPPED_BYTES = 64 * 1024 * 1024
DRAIN_SECONDS = 8
# In which a request is sent, from when the connection is there or the answer before has gone.
REQUEST_SECONDS = 30
# Of connections, and of tools that run; one that goes on after its deadline counts until it ends.
MAX_THREADS = 256
SECRET = re.compile(r"[\x21-\x7e]{16,1000}")
JSON_TYPE = re.compile(r'application/json\s*(;\s*charset="?utf-8"?\s*)?', re.IGNORECASE)


def secret_from(env):
    """What the gateway sends in X-Sallyport-Worker: WORKER_SECRET, or the file that WORKER_SECRET_FILE names, or None."""
    secret = env.get("WORKER_SECRET")
    if secret is None and "WORKER_SECRET_FILE" in env:
        with open(env["WORKER_SECRET_FILE"], encoding="utf-8") as file:
            secret = file.read()
    if secret is not None and not SECRET.fullmatch(secret.strip()):
        raise SystemExit("WORKER_SECRET needs 16 to 1000 characters without spaces.")
    return secret and secret.strip()


def _is_own_host(host):
    name = re.sub(r":\d+$", "", host.lower())
    try:
        ipaddress.ip_address(name.strip("[]"))
        return True
    except ValueError:
        known = [known.strip() for known in os.environ.get("WORKER_HOSTS", "").lower().split(",")]
        return bool(re.fullmatch(r"[a-z0-9_-]+", name)) or (name != "" and name in known)


def refusal(headers, secret):
    """Why a request is no run from the gateway, as status and message; None when it may be one.

    A page in a browser cannot send JSON elsewhere without asking first, sends an Origin, and has a Host of its own.
    """
    if "Origin" in headers:
        return 403, "A worker takes no requests of pages."
    if secret is None and not _is_own_host(headers.get("Host", "")):
        return 421, "The worker is not known by this Host: name it in WORKER_HOSTS."
    if not JSON_TYPE.fullmatch(headers.get("Content-Type", "")):
        return 415, "The content type must be application/json."
    shown = headers.get("X-Sallyport-Worker", "")
    if secret is not None and not hmac.compare_digest(shown.encode(), secret.encode()):
        return 401, "X-Sallyport-Worker must be the secret of gateway and worker."
    return None


def _members(pairs):
    members = dict(pairs)
    if len(members) < len(pairs):
        raise ValueError("a member stands twice")
    return members


def _no_number(name):
    raise ValueError(f"{name} is no JSON")


class ToolError(Exception):
    """The way a tool says that it failed. All of it reaches the caller; any other exception is INTERNAL.

    The code is UPSTREAM_ERROR, VALIDATION_ERROR, TIMEOUT or INTERNAL.
    """

    def __init__(self, code, message, retryable=False, details=None):
        super().__init__(message)
        self.envelope = {"code": code, "message": message, "retryable": retryable}
        if details is not None:
            self.envelope["details"] = details


class Context:
    """What a tool gets beside its input."""

    def __init__(self, meta, trace_headers):
        self.tool_id = meta.get("tool_id")
        self.run_id = meta["tool_run_id"]
        self.trace_id = meta["trace_id"]
        self.domain_id = meta["domain_id"]
        self.deadline = meta["deadline_ms"] / 1000
        # traceparent and tracestate as they came: send them with your own requests.
        self.trace_headers = trace_headers
        self.cancelled = threading.Event()


def _id(value):
    return value[:255] if isinstance(value, str) and value else "unknown"


def _is_id(value):
    return isinstance(value, str) and 0 < len(value) <= 255


def _is_time(value):
    return type(value) in (int, float) and 0 <= value <= sys.float_info.max


def _invalid(message):
    return ToolError("VALIDATION_ERROR", message)


def _checked(request):
    """The meta and the input of a request that fits the envelope."""
    if not isinstance(request, dict):
        raise _invalid("The request must be an object.")
    meta = request.get("meta")
    if not isinstance(meta, dict):
        raise _invalid("meta must be an object.")
    for name in ("trace_id", "tool_run_id", "domain_id"):
        if not _is_id(meta.get(name)):
            raise _invalid(f"meta.{name} must be a string of 1 to 255 characters.")
    if not _is_time(meta.get("deadline_ms")):
        raise _invalid("meta.deadline_ms must be milliseconds since 1970.")
    if not isinstance(request.get("input"), dict):
        raise _invalid("input must be an object.")
    return meta, request["input"]


def _choose(tools, tool_id):
    if tool_id is None and len(tools) == 1:
        return next(iter(tools.values()))
    if not isinstance(tool_id, str) or tool_id not in tools:
        raise _invalid(f"This worker has no tool {tool_id}.")
    return tools[tool_id]


def _until_deadline(tool, tool_input, context, room):
    """What the tool gives back as JSON, or TIMEOUT at the deadline: a tool that goes on after it is not waited for."""
    late = ToolError("TIMEOUT", "The deadline passed.", retryable=True)
    left = context.deadline - time.time()
    if left <= 0:
        raise late
    if not room.acquire(blocking=False):
        raise ToolError("UPSTREAM_ERROR", "The worker runs as much as it can.", retryable=True)
    ended = []

    def work():
        try:
            output = tool(tool_input, context)
            ended.append((json.dumps(output, allow_nan=False), None))
        except BaseException as error:
            ended.append((None, error))
        finally:
            room.release()

    thread = threading.Thread(target=work, daemon=True)
    try:
        thread.start()
    except BaseException:
        room.release()
        raise
    thread.join(min(left, threading.TIMEOUT_MAX))
    if not ended:
        context.cancelled.set()
        raise late
    output, error = ended[0]
    if error is not None:
        raise error
    return output


def answer_run(tools, body, trace_headers, room=None):
    """The envelope that answers this body, as JSON. A ToolError stands for a body that could not be read."""
    started = time.monotonic()
    request = None

    def meta():
        given = request.get("meta") if isinstance(request, dict) else None
        ids = given if isinstance(given, dict) else {}
        return json.dumps(
            {
                "trace_id": _id(ids.get("trace_id")),
                "tool_run_id": _id(ids.get("tool_run_id")),
                "duration_ms": round((time.monotonic() - started) * 1000),
            }
        )

    try:
        if isinstance(body, ToolError):
            raise body
        try:
            # json would take bytes in UTF-16, too.
            text = body if isinstance(body, str) else body.decode()
            request = json.loads(text, object_pairs_hook=_members, parse_constant=_no_number)
        except (ValueError, RecursionError):
            raise _invalid("The body is not JSON, or names a member twice.") from None
        given, tool_input = _checked(request)
        tool = _choose(tools, given.get("tool_id"))
        output = _until_deadline(tool, tool_input, Context(given, trace_headers), room or threading.Semaphore())
        return f'{{"ok":true,"meta":{meta()},"output":{output}}}'
    except ToolError as error:
        envelope = error.envelope
    except BaseException:
        # Nothing of it is told to the caller: its text may hold a path or a secret.
        traceback.print_exc()
        envelope = {"code": "INTERNAL", "message": "The tool failed unexpectedly.", "retryable": False}
    return f'{{"ok":false,"meta":{meta()},"error":{json.dumps(envelope)}}}'


class _Incoming(io.RawIOBase):
    """What comes on a connection, until `deadline`."""

    def __init__(self, connection):
        self.connection = connection
        self.deadline = 0

    def readable(self):
        return True

    def readinto(self, buffer):
        left = self.deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError("The request took too long.")
        self.connection.settimeout(left)
        return self.connection.recv_into(buffer)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def setup(self):
        super().setup()
        self.rfile.close()
        self.incoming = _Incoming(self.connection)
        self.rfile = io.BufferedReader(self.incoming)

    def handle_one_request(self):
        self.incoming.deadline = time.monotonic() + REQUEST_SECONDS
        super().handle_one_request()

    def do_GET(self):
        if self.path.split("?")[0] != "/healthz":
            return self._send(404, '{"ok":false,"message":"This worker has POST /run and GET /healthz."}')
        draining = self.server.draining
        self._send(503 if draining else 200, '{"ok":false}' if draining else '{"ok":true}')

    def do_POST(self):
        if self.path.split("?")[0] != "/run":
            self.close_connection = True
            return self._send(404, '{"ok":false,"message":"This worker has POST /run and GET /healthz."}')
        refused = refusal(self.headers, self.server.secret)
        if refused:
            self.close_connection = True
            status, message = refused
            return self._send(status, json.dumps({"ok": False, "message": message}))
        with self.server.run_under_way():
            names = ("traceparent", "tracestate")
            trace_headers = {name: self.headers[name] for name in names if name in self.headers}
            answer = answer_run(self.server.tools, self._read(), trace_headers, self.server.room)
            self._send(200, answer)

    def _read(self):
        length = self.headers.get("Content-Length", "")
        if not (length.isascii() and length.isdigit() and len(length) < 20):
            self.close_connection = True
            return _invalid("The request needs a Content-Length.")
        size = int(length)
        if size <= MAX_REQUEST_BYTES:
            return self.rfile.read(size)
        self.close_connection = True
        left = min(size, MAX_DROPPED_BYTES)
        while left > 0 and (dropped := self.rfile.read(min(left, 65536))):
            left -= len(dropped)
        return _invalid(f"The body is larger than {MAX_REQUEST_BYTES} bytes.")

    def _send(self, status, text):
        body = text.encode()
        self.connection.settimeout(REQUEST_SECONDS)
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        if self.close_connection or self.server.draining:
            self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        """One line for each request helps nobody: the gateway has the record."""


class _UnderWay:
    def __init__(self, server):
        self.server = server

    def __enter__(self):
        with self.server.changed:
            self.server.running += 1

    def __exit__(self, *_):
        with self.server.changed:
            self.server.running -= 1
            self.server.changed.notify_all()


class WorkerServer(ThreadingHTTPServer):
    """Serves the tools until `shutdown`; `drain` then waits for the runs under way."""

    request_queue_size = 128

    def __init__(self, tools, host, port):
        self.tools = tools
        self.secret = secret_from(os.environ)
        self.draining = False
        self.running = 0
        self.changed = threading.Condition()
        self.connections = threading.Semaphore(MAX_THREADS)
        self.room = threading.Semaphore(MAX_THREADS)
        super().__init__((host, port), _Handler)

    def process_request(self, request, client_address):
        """Without a thread for it, a connection waits, and others behind it."""
        while not self.connections.acquire(timeout=0.1):
            if self.draining:
                return self.shutdown_request(request)
        try:
            super().process_request(request, client_address)
        except BaseException:
            self.connections.release()
            raise

    def process_request_thread(self, request, client_address):
        try:
            super().process_request_thread(request, client_address)
        finally:
            self.connections.release()

    def run_under_way(self):
        return _UnderWay(self)

    def drain(self):
        with self.changed:
            self.changed.wait_for(lambda: self.running == 0, DRAIN_SECONDS)

    def handle_error(self, request, client_address):
        """A caller that hangs up is no defect of the worker."""
        if not isinstance(sys.exc_info()[1], (ConnectionError, TimeoutError)):
            super().handle_error(request, client_address)


def serve(tools):
    """Serves on WORKER_HOST (127.0.0.1) and PORT (8080) until SIGTERM or SIGINT, then lets the runs under way end."""
    host, port = os.environ.get("WORKER_HOST") or "127.0.0.1", int(os.environ.get("PORT") or 8080)
    server = WorkerServer(tools, host, port)

    def stop(*_):
        server.draining = True
        threading.Thread(target=server.shutdown, daemon=True).start()

    signal.signal(signal.SIGTERM, stop)
    signal.signal(signal.SIGINT, stop)
    print(f"POST http://{host}:{server.server_port}/run", flush=True)
    server.serve_forever(poll_interval=0.1)
    server.socket.close()
    server.drain()
