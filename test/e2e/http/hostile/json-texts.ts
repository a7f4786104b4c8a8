import { echo, type HostileCase, hostile, invoke } from "./hostile-case.ts";

const GOOD = '{"tool_id":"echo","parameters":{}}';
const bytes = (...parts: (string | number)[]) =>
  Buffer.concat(parts.map((part) => (typeof part === "string" ? Buffer.from(part) : Buffer.from([part]))));

const notJson: [name: string, body: string | Uint8Array][] = [
  ["nothing but spaces", "   "],
  ["a brace", "{"],
  ["cut off in a name", GOOD.slice(0, 6)],
  ["cut off before the end", GOOD.slice(0, -1)],
  ["a brace too many", `${GOOD}}`],
  ["two values", `${GOOD}${GOOD}`],
  ["a comma at the end of an object", '{"tool_id":"echo","parameters":{},}'],
  ["a comma at the end of an array", '{"tool_id":"echo","parameters":{"a":[1,]}}'],
  ["a comma too many", '{"tool_id":"echo",,"parameters":{}}'],
  ["no comma", '{"tool_id":"echo" "parameters":{}}'],
  ["no colon", '{"tool_id" "echo"}'],
  ["a comment", '{"tool_id":"echo",/* all of them */"parameters":{}}'],
  ["a comment to the end of the line", `${GOOD} // said somebody`],
  ["single quotes", "{'tool_id':'echo','parameters':{}}"],
  ["names without quotes", '{tool_id:"echo",parameters:{}}'],
  ["NaN", '{"tool_id":"echo","parameters":{"a":NaN}}'],
  ["Infinity", '{"tool_id":"echo","parameters":{"a":-Infinity}}'],
  ["undefined", '{"tool_id":"echo","parameters":{"a":undefined}}'],
  ["True", '{"tool_id":"echo","parameters":{"a":True}}'],
  ["a number with a plus", '{"tool_id":"echo","parameters":{"a":+1}}'],
  ["a number with a leading zero", '{"tool_id":"echo","parameters":{"a":01}}'],
  ["a hexadecimal number", '{"tool_id":"echo","parameters":{"a":0x1f}}'],
  ["a number that ends in a dot", '{"tool_id":"echo","parameters":{"a":1.}}'],
  ["a number that begins with a dot", '{"tool_id":"echo","parameters":{"a":.5}}'],
  ["a number without its exponent", '{"tool_id":"echo","parameters":{"a":1e}}'],
  ["an unknown escape", '{"tool_id":"ec\\ho","parameters":{}}'],
  ["half an escape", '{"tool_id":"\\u00","parameters":{}}'],
  ["a line break in a text", '{"tool_id":"ec\nho","parameters":{}}'],
  ["a tab in a text", '{"tool_id":"ec\tho","parameters":{}}'],
  ["a NUL in a text", bytes('{"tool_id":"ec', 0, 'ho","parameters":{}}')],
  ["a NUL at the end", bytes(GOOD, 0)],
  ["a byte order mark", bytes(0xef, 0xbb, 0xbf, GOOD)],
  ["UTF-16", Buffer.from(GOOD, "utf16le")],
  ["UTF-16 with its mark", bytes(0xff, 0xfe, Buffer.from(GOOD, "utf16le").toString("latin1"))],
  ["a space of another kind", `\u00a0${GOOD}`],
  ["a form", "tool_id=echo&parameters="],
  ["YAML", "tool_id: echo\nparameters: {}\n"],
  ["XML", '<?xml version="1.0"?><!DOCTYPE a [<!ENTITY b SYSTEM "file:///etc/passwd">]><a>&b;</a>'],
  ["one byte that begins a character", bytes('{"tool_id":"', 0xc3, '","parameters":{}}')],
  ["a byte that no text has", bytes('{"tool_id":"', 0xff, '","parameters":{}}')],
  ["an over-long slash", bytes('{"tool_id":"', 0xc0, 0xaf, '","parameters":{}}')],
  ["a surrogate in UTF-8", bytes('{"tool_id":"', 0xed, 0xa0, 0x80, '","parameters":{}}')],
  ["a character beyond Unicode", bytes('{"tool_id":"', 0xf4, 0x90, 0x80, 0x80, '","parameters":{}}')],
];

const notWhole: [name: string, parameters: string][] = [
  ["half a character", '{"a":"\\ud83d"}'],
  ["the other half of a character", '{"a":"\\ude00"}'],
  ["the halves of a character, swapped", '{"a":"\\ude00\\ud83d"}'],
  ["half a character in a name", '{"\\ud83d":1}'],
  ["half a character deep down", '{"a":[{"b":["\\udfff"]}]}'],
];

/** Bodies that are no JSON, or that two readers could read in two ways. */
export const JSON_TEXTS: HostileCase[] = [
  ...notJson.map(([name, body]) => hostile(`JSON: ${name}`, invoke(body), 400, "E3903")),
  ...notWhole.map(([name, parameters]) => hostile(`JSON: ${name}`, echo(parameters), 400, "E3903")),
  hostile("JSON: no body at all", invoke(""), 400, "E3903"),
];
