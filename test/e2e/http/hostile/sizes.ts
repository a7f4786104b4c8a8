import { gzipSync } from "node:zlib";
import { echo, type HostileCase, head, hostile, invoke } from "./hostile-case.ts";

/** What the server under attack takes (`http.bodyBytes`). */
export const BODY_BYTES = 4 * 1024 * 1024;

const MIB = 1024 * 1024;
const arrays = (depth: number) => `{"a":${"[".repeat(depth)}${"]".repeat(depth)}}`;
const objects = (depth: number) => `${'{"a":'.repeat(depth)}1${"}".repeat(depth)}`;
const number = (digits: string) => echo(`{"a":${digits}}`);
const chunk = (bytes: number) => `${bytes.toString(16)}\r\n${" ".repeat(bytes)}\r\n`;
const START = ["Content-Type: application/json"];

const numbers: [name: string, digits: string, ...due: [number, string?]][] = [
  ["a number beyond all", "1e400", 400, "E3903"],
  ["a number below all", "-1e400", 400, "E3903"],
  ["a number of 10,000 digits", `1${"0".repeat(10_000)}`, 400, "E3903"],
  ["a number of 10,000 odd digits", "7".repeat(10_000), 400, "E3903"],
  ["an exponent of 10,000 digits", `1e${"9".repeat(10_000)}`, 400, "E3903"],
  ["one more than a number can tell", "9007199254740993", 400, "E3903"],
  ["one more than 2^64", "18446744073709551617", 400, "E3903"],
  ["2^64, which a number can be", "18446744073709551616", 200],
  ["less than nothing", "-0", 200],
  ["a number near nothing", "5e-324", 200],
];

/** Too deep, too many, too long, too large; and what is just within bounds. */
export const SIZES: HostileCase[] = [
  hostile("depth: 10 arrays", echo(arrays(10)), 200),
  hostile("depth: 100 arrays", echo(arrays(100)), 413, "E3902"),
  hostile("depth: 10,000 arrays", echo(arrays(10_000)), 413, "E3902"),
  hostile("depth: 1,000,000 arrays", echo(arrays(1_000_000)), 413, "E3902"),
  hostile("depth: 1,000,000 arrays that never close", echo(`{"a":${"[".repeat(1_000_000)}`), 400, "E3903"),
  hostile("depth: 10 objects", echo(objects(10)), 200),
  hostile("depth: 100 objects", echo(objects(100)), 413, "E3902"),
  hostile("depth: 10,000 objects", echo(objects(10_000)), 413, "E3902"),
  hostile("depth: 600,000 objects", echo(objects(600_000)), 413, "E3902"),
  ...numbers.map(([name, digits, ...due]) => hostile(`number: ${name}`, number(digits), ...due)),
  hostile("many: 200,000 values", echo(`{"a":[${"0,".repeat(199_999)}0]}`), 413, "E3902"),
  hostile("many: 100,000 names", echo(`{${namesUpTo(100_000)}}`), 413, "E3902"),
  hostile("long: a text of 3 MiB", echo(`{"a":"${"a".repeat(3 * MIB)}"}`), 413, "E3902"),
  hostile("long: a name of 1 MiB", echo(`{"${"a".repeat(MIB)}":1}`), 413, "E3902"),
  hostile(
    "long: a tool's name of 1 MiB",
    invoke(`{"tool_id":"${"a".repeat(MIB)}","parameters":{}}`),
    400,
    "E3903",
  ),
  hostile(
    "long: 1 MiB of spaces around it",
    invoke(`${" ".repeat(MIB)}{"tool_id":"echo","parameters":{}}`),
    200,
  ),
  hostile("large: a byte too many", invoke(" ".repeat(BODY_BYTES + 1)), 413, "E3902"),
  hostile("large: 8 MiB", invoke(" ".repeat(8 * MIB)), 413, "E3902"),
  hostile(
    "large: 1 TiB is announced",
    head("POST /v1/tools/invoke", [...START, `Content-Length: ${2 ** 40}`]),
    413,
    "E3902",
  ),
  hostile(
    "large: 1 TiB is announced, if it is wanted",
    head("POST /v1/tools/invoke", [...START, "Expect: 100-continue", `Content-Length: ${2 ** 40}`]),
    413,
    "E3902",
  ),
  hostile(
    "large: chunk after chunk",
    [
      head("POST /v1/tools/invoke", [...START, "Transfer-Encoding: chunked"]),
      ...Array.from({ length: 10 }, () => chunk(MIB / 2)),
    ],
    413,
    "E3902",
  ),
  hostile(
    "large: a bomb in gzip",
    invoke(gzipSync(Buffer.alloc(16 * MIB, " ")), "Content-Encoding: gzip"),
    415,
    "E3932",
  ),
  hostile(
    "large: a bomb in two layers of gzip",
    invoke(gzipSync(gzipSync("{}")), "Content-Encoding: gzip, gzip"),
    415,
    "E3932",
  ),
  hostile("large: gzip that nobody mentions", invoke(gzipSync("{}")), 400, "E3903"),
  hostile("large: other codings", invoke("{}", "Content-Encoding: br"), 415, "E3932"),
  hostile("large: an empty coding", invoke("{}", "Content-Encoding: "), 415, "E3932"),
];

function namesUpTo(count: number): string {
  return Array.from({ length: count }, (_, index) => `"k${index}":0`).join(",");
}
