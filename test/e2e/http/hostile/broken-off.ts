import { get, type HostileCase, head, invoke } from "./hostile-case.ts";

const BODY = '{"tool_id":"ledger","parameters":{"file":"hostile.txt","line":"never"}}';
const START = head("POST /v1/tools/invoke", [
  "Content-Type: application/json",
  `Content-Length: ${BODY.length}`,
]);
const CHUNKS = head("POST /v1/tools/invoke", [
  "Content-Type: application/json",
  "Transfer-Encoding: chunked",
]);
const HALF = BODY.slice(0, 30);
const chunk = (text: string) => `${text.length.toString(16)}\r\n${text}\r\n`;

const halves: [name: string, ...sends: string[]][] = [
  ["nothing at all"],
  ["a letter", "P"],
  ["half a first line", "POST /v1/too"],
  ["half its headers", START.slice(0, 60)],
  ["all but the last byte of its headers", START.slice(0, -1)],
  ["its headers", START],
  ["half its body", START, HALF],
  ["all but a byte of its body", START, BODY.slice(0, -1)],
  ["the headers of chunks", CHUNKS],
  ["one chunk", CHUNKS, chunk(HALF)],
  ["every chunk but the last", CHUNKS, chunk(BODY)],
  ["half a chunk size", CHUNKS, "f"],
  ["half a trailer", CHUNKS, chunk(BODY), "0\r\nX-A"],
];

const NOTHING_SAID = new Set(["nothing at all"]);

/** Senders that stop in the middle: gone, done talking, or silent. */
export const BROKEN_OFF: HostileCase[] = [
  ...halves.map(
    ([name, ...sends]): HostileCase => ({ name: `gone after ${name}`, sends, ending: "resets", answers: [] }),
  ),
  ...halves.map(
    ([name, ...sends]): HostileCase => ({
      name: `done after ${name}`,
      sends,
      ending: "half-closes",
      answers: NOTHING_SAID.has(name) ? [] : [[400, "E3903"]],
    }),
  ),
  {
    name: "gone before its answer",
    sends: [invoke('{"tool_id":"courier","parameters":{"gate":"never"}}')],
    ending: "resets",
    answers: [],
  },
];

/** Those that keep the connection and say no more: they are told when their time is over. */
export const SILENT: HostileCase[] = halves.map(
  ([name, ...sends]): HostileCase => ({ name: `silent after ${name}`, sends, answers: [[408, "E3933"]] }),
);

const good = (n: number) => `GET /v1/tools/none-${n} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n`;
const many = (count: number) => Array.from({ length: count }, (_, index) => good(index)).join("");
const notFound = [404, "E3001"] as const;

/** Several requests at once, some of them bad. */
export const PIPELINED: HostileCase[] = [
  {
    name: "pipeline: as many as may wait",
    sends: [many(8), get("/none")],
    answers: [...Array(8).fill(notFound), [404, "E3930"]],
  },
  {
    name: "pipeline: more than may wait",
    sends: [many(20)],
    answers: [...Array(8).fill(notFound), ...Array(12).fill([503, "E3910"])],
  },
  {
    name: "pipeline: a bad one while a good one is looked into",
    sends: ["GET /v1/invocations/none HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\nGARBAGE\r\n\r\n"],
    // What is said about the second would be taken for the answer to the first, so the connection is cut.
    answers: [],
  },
  {
    name: "pipeline: nothing counts after a bad one",
    sends: [`GARBAGE\r\n\r\n${good(1)}`],
    answers: [[400, "E3903"]],
  },
  {
    name: "pipeline: what follows an answered body",
    sends: [
      `${head("POST /v1/tools/invoke", ["Connection: keep-alive", "Content-Type: text/plain", "Content-Length: 2"])}{}${get("/none")}`,
    ],
    answers: [
      [415, "E3932"],
      [404, "E3930"],
    ],
  },
];
