import { get, type HostileCase, head, hostile, post } from "./hostile-case.ts";

const PATH = "/v1/tools";
const host = (value: string) => get(PATH, `Host: ${value}`);

const foreign = [
  "evil.example",
  "evil.example:80",
  "127.0.0.1.evil.example",
  "localhost.evil.example",
  "169.254.169.254",
  "0.0.0.0",
  "10.0.0.1",
  "[::2]",
  "sallyport",
  "xn--localhost-9cb",
];
const broken = [
  "",
  " ",
  "a b",
  "127.0.0.1:abc",
  "127.0.0.1:1:2",
  "127.0.0.1:999999",
  "user@127.0.0.1",
  "user:pass@localhost",
  "127.0.0.1/",
  "localhost?x",
  "localhost#x",
  "localhost\\",
  "[::1",
  "127.0.0.1,evil.example",
  "*",
  "%6cocalhost",
  "localhost\xe4",
];
const own = [
  "127.0.0.1.",
  "localhost",
  "LOCALHOST:80",
  "127.0.0.1:9",
  "[::1]:7420",
  "localhost.",
  "127.1.2.3",
];

const pages: [name: string, ...headers: string[]][] = [
  ["a foreign page", "Origin: https://evil.example"],
  ["no page at all", "Origin: null"],
  ["a file", "Origin: file://"],
  ["another port of this machine", "Origin: http://127.0.0.1:1"],
  ["this machine by another scheme", "Origin: https://127.0.0.1"],
  ["our name with more behind it", "Origin: http://127.0.0.1.evil.example"],
  ["our name as somebody's user", "Origin: http://127.0.0.1@evil.example"],
  ["our address with a path", "Origin: http://127.0.0.1/x"],
  ["our address with a space", "Origin: http://127.0.0.1 http://evil.example"],
  ["an empty origin", "Origin: "],
  ["an extension", "Origin: chrome-extension://abcdef"],
  ["a page that embeds us", "Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: no-cors"],
  ["a sibling that embeds us", "Sec-Fetch-Site: same-site", "Sec-Fetch-Mode: cors"],
];

/** Requests for somebody else, and those of pages that may not ask. */
export const ORIGINS: HostileCase[] = [
  ...foreign.map((value) => hostile(`host: ${value}`, host(value), 421, "E3936")),
  ...broken.map((value) => hostile(`host: ${JSON.stringify(value)}`, host(value), 400, "E3903")),
  ...own.map((value) => hostile(`host: ${value}, which is ours`, host(value), 200)),
  hostile("host: none", `GET ${PATH} HTTP/1.1\r\nConnection: close\r\n\r\n`, 400, "E3903"),
  hostile("host: none, in HTTP/1.0", `GET ${PATH} HTTP/1.0\r\n\r\n`, 400, "E3903"),
  hostile("host: two", get(PATH, "Host: 127.0.0.1", "Host: evil.example"), 400, "E3903"),
  hostile("host: the same twice", get(PATH, "Host: 127.0.0.1", "host: 127.0.0.1"), 400, "E3903"),
  hostile("host: another in the target", get(`http://evil.example${PATH}`), 400, "E3903"),
  hostile(
    "host: ours in the target, another in the header",
    get(`http://127.0.0.1${PATH}`, "Host: evil.example"),
    400,
    "E3903",
  ),
  hostile(
    "host: what a proxy claims does not count",
    get(PATH, "Host: evil.example", "X-Forwarded-Host: 127.0.0.1"),
    421,
    "E3936",
  ),
  ...pages.map(([name, ...headers]) => hostile(`origin: ${name}`, get(PATH, ...headers), 403, "E3937")),
  hostile("origin: two", get(PATH, "Origin: http://127.0.0.1", "Origin: https://evil.example"), 400, "E3903"),
  hostile(
    "origin: a foreign page posts",
    post("/v1/tools/invoke", '{"tool_id":"echo","parameters":{}}', "Origin: https://evil.example"),
    403,
    "E3937",
  ),
  hostile(
    "origin: a foreign page asks beforehand",
    head(`OPTIONS ${PATH}`, ["Origin: https://evil.example", "Access-Control-Request-Method: POST"]),
    403,
    "E3937",
  ),
  hostile(
    "origin: a foreign page asks for what does not exist",
    get("/none", "Origin: https://evil.example"),
    403,
    "E3937",
  ),
  hostile("origin: our own page", get(PATH, "Origin: http://127.0.0.1"), 200),
];
