import { get, type HostileCase, head, hostile, post } from "./hostile-case.ts";

const GOOD = '{"tool_id":"echo","parameters":{}}';

const wrong: [method: string, path: string][] = [
  ["GET", "/v1/tools/invoke"],
  ["PUT", "/v1/tools/invoke"],
  ["PATCH", "/v1/tools/invoke"],
  ["DELETE", "/v1/tools/invoke"],
  ["POST", "/v1/tools"],
  ["DELETE", "/v1/tools/echo"],
  ["PUT", "/v1/tools/echo"],
  ["DELETE", "/v1/invocations/x"],
  ["GET", "/v1/messages"],
  ["POST", "/v1/audit"],
  ["DELETE", "/v1/audit"],
  ["POST", "/healthz"],
  ["POST", "/metrics"],
  ["PUT", "/openapi.json"],
  ["TRACE", "/healthz"],
  ["TRACE", "/v1/tools"],
  ["PROPFIND", "/v1/tools"],
  ["LOCK", "/v1/tools"],
  ["PURGE", "/v1/tools"],
  ["SEARCH", "/v1/tools"],
  ["QUERY", "/v1/tools"],
  ["M-SEARCH", "/v1/tools"],
];

const H2 = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
const SOCKET = [
  "Connection: Upgrade",
  "Upgrade: websocket",
  "Sec-WebSocket-Version: 13",
  "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==",
];

/** Methods no path has, other protocols, and odd wishes. */
export const METHODS: HostileCase[] = [
  ...wrong.map(([method, path]) =>
    hostile(`method: ${method} ${path}`, head(`${method} ${path}`), 405, "E3931"),
  ),
  hostile(
    "method: TRACE with a secret to be shown",
    head("TRACE /healthz", ["Cookie: sallyport_session=x"]),
    405,
    "E3931",
  ),
  hostile(
    "method: CONNECT",
    "CONNECT evil.example:443 HTTP/1.1\r\nHost: evil.example:443\r\n\r\n",
    405,
    "E3931",
  ),
  hostile(
    "method: CONNECT to ourselves",
    "CONNECT 127.0.0.1:80 HTTP/1.1\r\nHost: 127.0.0.1:80\r\n\r\n",
    405,
    "E3931",
  ),
  hostile("method: one that nobody knows", head("BREW /v1/tools"), 400, "E3903"),
  hostile("method: one of 1,000 letters", head(`${"A".repeat(1_000)} /v1/tools`), 400, "E3903"),
  hostile(
    "method: override by a header",
    post("/v1/tools", GOOD, "X-HTTP-Method-Override: GET"),
    405,
    "E3931",
  ),
  hostile("method: override by a query", get("/v1/tools?_method=DELETE"), 400, "E3903"),
  hostile("method: OPTIONS of nothing", head("OPTIONS /none"), 404, "E3930"),
  hostile("method: OPTIONS of everything", head("OPTIONS *"), 204),
  hostile("method: GET of everything", head("GET *"), 405, "E3931"),
  hostile("upgrade: HTTP/2 without asking", H2, 400, "E3903"),
  hostile(
    "upgrade: HTTP/2 by a header",
    get(
      "/healthz",
      "Connection: Upgrade, HTTP2-Settings, close",
      "Upgrade: h2c",
      "HTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA",
    ),
    200,
  ),
  hostile("upgrade: a web socket", get("/v1/tools/none", ...SOCKET), 404, "E3001"),
  hostile("upgrade: a web socket by POST", post("/v1/tools/invoke", "{}", ...SOCKET), 400, "E3903"),
  hostile(
    "upgrade: something unheard of",
    get("/v1/tools/none", "Connection: upgrade", "Upgrade: quantum/1"),
    404,
    "E3001",
  ),
  hostile("expect: the moon", post("/v1/tools/invoke", GOOD, "Expect: the-moon"), 417, "E3944"),
  hostile(
    "expect: twice",
    post("/v1/tools/invoke", GOOD, "Expect: 100-continue", "Expect: 100-continue"),
    400,
    "E3903",
  ),
  hostile(
    "expect: to go on with something that is no JSON",
    [
      head("POST /v1/tools/invoke", [
        "Content-Type: application/json",
        "Expect: 100-continue",
        "Content-Length: 3",
      ]),
      "{x}",
    ],
    400,
    "E3903",
  ),
  hostile(
    "expect: to go on where there is nothing",
    [head("POST /none", ["Content-Type: application/json", "Expect: 100-continue", "Content-Length: 3"])],
    404,
    "E3930",
  ),
];
