import { get, type HostileCase, head, hostile } from "./hostile-case.ts";

const HIDDEN = "GET /v1/tools/hidden HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n";
const CHUNKED = "Transfer-Encoding: chunked";
const KEEP = "Connection: keep-alive";

/** A POST on a connection that would go on, so that anything hidden behind it would be answered too. */
function open(headers: string[], body: string): string {
  return head("POST /v1/tools/invoke", [KEEP, "Content-Type: application/json", ...headers]).concat(body);
}

const bodies: [name: string, request: string][] = [
  ["length and chunks", open(["Content-Length: 6", CHUNKED], `0\r\n\r\n${HIDDEN}`)],
  ["chunks and length", open([CHUNKED, "Content-Length: 6"], `0\r\n\r\n${HIDDEN}`)],
  ["two lengths", open(["Content-Length: 2", "Content-Length: 60"], `{}${HIDDEN}`)],
  ["the same length twice", open(["Content-Length: 2", "Content-Length: 2"], `{}${HIDDEN}`)],
  ["a list of lengths", open(["Content-Length: 2, 2"], `{}${HIDDEN}`)],
  ["a negative length", open(["Content-Length: -1"], HIDDEN)],
  ["a length with a plus", open(["Content-Length: +2"], `{}${HIDDEN}`)],
  ["a length in hexadecimal", open(["Content-Length: 0x2"], `{}${HIDDEN}`)],
  ["a length with a space", open(["Content-Length: 2 3"], `{}${HIDDEN}`)],
  ["an empty length", open(["Content-Length:"], `{}${HIDDEN}`)],
  ["a length beyond numbers", open(["Content-Length: 99999999999999999999999"], HIDDEN)],
  ["an unknown coding", open(["Transfer-Encoding: xchunked"], `2\r\n{}\r\n0\r\n\r\n${HIDDEN}`)],
  ["identity", open(["Transfer-Encoding: identity"], `{}${HIDDEN}`)],
  ["a coding before chunks", open(["Transfer-Encoding: gzip, chunked"], "2\r\n{}\r\n0\r\n\r\n")],
  ["a coding after chunks", open(["Transfer-Encoding: chunked, identity"], `0\r\n\r\n${HIDDEN}`)],
  ["chunked twice", open([CHUNKED, CHUNKED], `2\r\n{}\r\n0\r\n\r\n${HIDDEN}`)],
  ["chunked after a tab", open(["Transfer-Encoding:\tchunked", "Content-Length: 2"], `{}${HIDDEN}`)],
  ["chunked in a name with a space", open(["Transfer-Encoding : chunked"], `0\r\n\r\n${HIDDEN}`)],
  ["chunked on a folded line", open(["Transfer-Encoding:\r\n chunked"], `0\r\n\r\n${HIDDEN}`)],
  ["chunked after a vertical tab", open(["Transfer-Encoding: \x0bchunked"], `0\r\n\r\n${HIDDEN}`)],
  ["a chunk size that is none", open([CHUNKED], `zz\r\n{}\r\n0\r\n\r\n${HIDDEN}`)],
  ["a negative chunk size", open([CHUNKED], `-2\r\n{}\r\n0\r\n\r\n${HIDDEN}`)],
  ["a chunk size with 0x", open([CHUNKED], `0x2\r\n{}\r\n0\r\n\r\n${HIDDEN}`)],
  ["a chunk size beyond numbers", open([CHUNKED], `fffffffffffffffff\r\n{}`)],
  ["an empty chunk size", open([CHUNKED], `\r\n{}\r\n0\r\n\r\n${HIDDEN}`)],
  ["a chunk that is longer than it says", open([CHUNKED], `1\r\n{}\r\n0\r\n\r\n${HIDDEN}`)],
  ["a chunk that ends in LF", open([CHUNKED], `2\n{}\n0\n\n${HIDDEN}`)],
  ["a bare CR in a chunk extension", open([CHUNKED], `2;a\rb\r\n{}\r\n0\r\n\r\n${HIDDEN}`)],
];

const heads: [name: string, request: string][] = [
  ["lines that end in LF", "GET /v1/tools HTTP/1.1\nHost: 127.0.0.1\n\n"],
  ["one line that ends in LF", "GET /v1/tools HTTP/1.1\r\nHost: 127.0.0.1\nX-A: b\r\n\r\n"],
  ["a bare CR in a value", get("/v1/tools", "X-A: b\rSet-Cookie: c")],
  ["a folded line", get("/v1/tools", "X-A: b\r\n c")],
  ["a folded first line", "GET /v1/tools HTTP/1.1\r\n Host: 127.0.0.1\r\n\r\n"],
  ["a space in a name", get("/v1/tools", "X A: b")],
  ["a space before the colon", get("/v1/tools", "X-A : b")],
  ["a name that is none", get("/v1/tools", ": b")],
  ["a line without a colon", get("/v1/tools", "X-A")],
  ["a NUL in a name", get("/v1/tools", "X-\0A: b")],
  ["a NUL in a value", get("/v1/tools", "X-A: b\0c")],
  ["a control character in a value", get("/v1/tools", "X-A: b\x01c")],
  ["a name in other letters", get("/v1/tools", "X-\xc3\xa4: b")],
  ["no version", "GET /v1/tools\r\nHost: 127.0.0.1\r\n\r\n"],
  ["a version of the past", "GET /v1/tools HTTP/0.9\r\nHost: 127.0.0.1\r\n\r\n"],
  ["a version of the future", "GET /v1/tools HTTP/2.0\r\nHost: 127.0.0.1\r\n\r\n"],
  ["a version that is none", "GET /v1/tools HTTP/x.y\r\nHost: 127.0.0.1\r\n\r\n"],
  ["another protocol's name", "GET /v1/tools FTP/1.0\r\nHost: 127.0.0.1\r\n\r\n"],
  ["a method in small letters", "get /v1/tools HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"],
  ["a TLS greeting", "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"],
  ["an SSH greeting", "SSH-2.0-OpenSSH_9.6\r\n"],
  ["a mail greeting", "HELO example.com\r\nMAIL FROM:<a@example.com>\r\n"],
  ["a Redis command", "*1\r\n$4\r\nINFO\r\n"],
  ["a hundred NULs", "\0".repeat(100)],
];

/** Requests whose end, or whose headers, two readers could see in two places. */
export const SMUGGLING: HostileCase[] = [
  ...bodies.map(([name, request]) => hostile(`smuggling: ${name}`, request, 400, "E3903")),
  ...heads.map(([name, request]) => hostile(`head: ${name}`, request, 400, "E3903")),
  hostile(
    "smuggling: long chunk extensions",
    open([CHUNKED], `2;${"a".repeat(20_000)}\r\n{}\r\n0\r\n\r\n`),
    413,
    "E3902",
  ),
  hostile(
    "smuggling: a length in a trailer",
    open([CHUNKED, "Connection: close"], "2\r\n{}\r\n0\r\nContent-Length: 60\r\n\r\n"),
    400,
    "E3903",
  ),
  hostile(
    "smuggling: chunks in HTTP/1.0",
    `POST /v1/tools/invoke HTTP/1.0\r\nHost: 127.0.0.1\r\nConnection: keep-alive\r\nContent-Type: application/json\r\n${CHUNKED}\r\n\r\n2\r\n{}\r\n0\r\n\r\n`,
    400,
    "E3903",
  ),
  hostile("smuggling: a length with zeros before it", open(["Content-Length: 0002"], "{}"), 400, "E3903"),
  hostile(
    "smuggling: a length with another separator",
    open(["Content_Length: 60", "Content-Length: 2"], "{}"),
    400,
    "E3903",
  ),
  hostile(
    "smuggling: a credential in a trailer",
    open([CHUNKED], "2\r\n{}\r\n0\r\nAuthorization: Bearer x\r\n\r\n"),
    400,
    "E3903",
  ),
  hostile(
    "smuggling: chunked named as a hop's own",
    open([CHUNKED, "Connection: close, transfer-encoding"], "2\r\n{}\r\n0\r\n\r\n"),
    400,
    "E3903",
  ),
  hostile(
    "smuggling: CHUNKED in capitals",
    open(["Transfer-Encoding: CHUNKED"], "2\r\n{}\r\n0\r\n\r\n"),
    400,
    "E3903",
  ),
  hostile("head: empty lines before it", `\r\n\r\n${get("/v1/tools/none")}`, 404, "E3001"),
  // Node's parser takes these for HTTP, and there is nothing in them that two readers could read in two ways.
  hostile("head: a protocol that looks alike", "GET /v1/tools RTSP/1.0\r\nHost: 127.0.0.1\r\n\r\n", 200),
  hostile("head: more spaces than one", "GET  /v1/tools  HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", 200),
  hostile("head: 17 KiB in one header", get("/v1/tools", `X-A: ${"b".repeat(17 * 1024)}`), 431, "E3935"),
  hostile("head: 17 KiB in many headers", get("/v1/tools", ...many(300, "b".repeat(50))), 431, "E3935"),
  hostile("head: 101 headers", get("/v1/tools", ...many(101, "b")), 431, "E3935"),
  hostile("head: a name of 17 KiB", get("/v1/tools", `${"X".repeat(17 * 1024)}: b`), 431, "E3935"),
];

function many(count: number, value: string): string[] {
  return Array.from({ length: count }, (_, index) => `X-${index}: ${value}`);
}
