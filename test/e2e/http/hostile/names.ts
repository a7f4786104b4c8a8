import { echo, type HostileCase, hostile, invoke, post } from "./hostile-case.ts";

const polluting: [name: string, body: string][] = [
  ["__proto__ at the top", '{"tool_id":"echo","parameters":{},"__proto__":{"isAdmin":true}}'],
  ["__proto__ in the parameters", '{"tool_id":"echo","parameters":{"__proto__":{"isAdmin":true}}}'],
  ["__proto__ that is null", '{"tool_id":"echo","parameters":{"__proto__":null}}'],
  ["__proto__ deep down", '{"tool_id":"echo","parameters":{"a":[{"b":{"__proto__":{"c":1}}}]}}'],
  ["__proto__ in escapes", '{"tool_id":"echo","parameters":{"\\u005f_proto_\\u005f":{"a":1}}}'],
  ["__proto__ twice", '{"tool_id":"echo","parameters":{"__proto__":{},"__proto__":{"a":1}}}'],
  [
    "__proto__ in the options",
    '{"tool_id":"echo","parameters":{},"execution_options":{"__proto__":{"async_mode":true}}}',
  ],
  [
    "__proto__ in the agent",
    '{"tool_id":"echo","parameters":{},"agent_context":{"agent_did":"a","tenant_id":"t","__proto__":{}}}',
  ],
  [
    "constructor.prototype at the top",
    '{"tool_id":"echo","parameters":{},"constructor":{"prototype":{"a":1}}}',
  ],
  [
    "constructor.prototype in the parameters",
    '{"tool_id":"echo","parameters":{"constructor":{"prototype":{"a":1}}}}',
  ],
  [
    "constructor.prototype deep down",
    '{"tool_id":"echo","parameters":{"a":{"constructor":{"prototype":{}}}}}',
  ],
  ["constructor as an unknown field", '{"tool_id":"echo","parameters":{},"constructor":1}'],
  ["toString as an unknown field", '{"tool_id":"echo","parameters":{},"toString":1}'],
  ["hasOwnProperty as an unknown field", '{"tool_id":"echo","parameters":{},"hasOwnProperty":1}'],
];

const twice: [name: string, body: string][] = [
  ["the tool", '{"tool_id":"echo","tool_id":"ledger","parameters":{}}'],
  ["the parameters", '{"tool_id":"echo","parameters":{"a":1},"parameters":{"a":2}}'],
  ["an argument", '{"tool_id":"echo","parameters":{"a":1,"a":2}}'],
  ["an argument, the same value", '{"tool_id":"echo","parameters":{"a":1,"a":1}}'],
  ["an argument deep down", '{"tool_id":"echo","parameters":{"a":[{"b":1,"c":{},"b":2}]}}'],
  ["a name in escapes", '{"tool_id":"echo","parameters":{"a":1,"\\u0061":2}}'],
  ["an empty name", '{"tool_id":"echo","parameters":{"":1,"":2}}'],
  [
    "the agent",
    '{"tool_id":"echo","parameters":{},"agent_context":{"agent_did":"a","tenant_id":"t","agent_did":"b"}}',
  ],
  ["the token", '{"tool_id":"echo","parameters":{},"capability_token":"a","capability_token":"b"}'],
];

/** What every object of the language has, as the name of something else. */
const inherited = ["__proto__", "constructor", "prototype", "toString", "valueOf", "hasOwnProperty", "then"];

const asTool = inherited.map((name) =>
  hostile(`names: the tool ${name}`, invoke(`{"tool_id":"${name}","parameters":{}}`), 404, "E3001"),
);
const asOperation = inherited.map((name) =>
  hostile(
    `names: the operation ${name}`,
    invoke(`{"tool_id":"echo","operation":"${name}","parameters":{}}`),
    404,
    "E3010",
  ),
);

const MCX = {
  header: {
    version: "1.0",
    messageId: "m-1",
    timestamp: "2026-01-02T03:04:05Z",
    messageType: "request",
    source: "s",
    destination: "d",
  },
  payload: {
    tool: { id: "echo", capability: "run", parameters: {} },
    context: { session_id: "s", request_id: "r" },
  },
};
const message = JSON.stringify(MCX);

/** Names that mean something to the language, and names that stand twice. */
export const NAMES: HostileCase[] = [
  ...polluting.map(([name, body]) => hostile(`names: ${name}`, invoke(body), 400, "E3903")),
  ...twice.map(([name, body]) => hostile(`twice: ${name}`, invoke(body), 400, "E3903")),
  ...asTool,
  ...asOperation,
  hostile(
    "names: __proto__ in a message",
    post("/v1/messages", message.replace('"parameters":{}', '"parameters":{"__proto__":{"a":1}}')),
    400,
    "E3903",
  ),
  hostile(
    "twice: the capability of a message",
    post("/v1/messages", message.replace('"capability":"run"', '"capability":"run","capability":"drop"')),
    400,
    "E3903",
  ),
  hostile("names: a harmless constructor", echo('{"constructor":"of houses"}'), 200),
  hostile(
    "names: then, toJSON and length as arguments",
    echo('{"then":1,"toJSON":"x","length":-1,"valueOf":null}'),
    200,
  ),
];
