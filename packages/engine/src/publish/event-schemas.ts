import { type JsonObject, PRIORITIES } from "@sallyport/protocol";

const text = { type: "string" } as const;
const object = (properties: JsonObject, optional: string[] = []): JsonObject => ({
  type: "object",
  properties,
  required: Object.keys(properties).filter((name) => !optional.includes(name)),
});

const IDENTITY: JsonObject = {
  invocation_id: { ...text, description: "The call." },
  agent_did: { ...text, description: "The agent that called." },
  tenant_id: { ...text, description: "The tenant it belongs to." },
  tool_id: text,
  tool_version: { ...text, description: "`*` when the call ended before its tool was found." },
};

const METADATA = object({
  duration_ms: { type: "number", minimum: 0 },
  cpu_used_millicore_seconds: { type: "integer", minimum: 0 },
  memory_peak_mb: { type: "integer", minimum: 0 },
});

const ERROR = object({
  code: { ...text, description: "The kind of the error, such as `timeout`." },
  message: text,
  retryable: { type: "boolean" },
});

const FAILED = object({ ...IDENTITY, error: ERROR, execution_metadata: METADATA });

/** What the data of each type of event holds. Members are only ever added. */
const DATA: Record<string, { description: string; data: JsonObject }> = {
  "ai.agent.tool.invoked": {
    description: "The call may run.",
    data: object(
      {
        ...IDENTITY,
        operation: text,
        parameters: { description: "The input, with secrets taken out; null when it is omitted." },
        parameters_omitted: {
          description:
            "Only of an input of more than 256 Ki characters: its length and the digest of the whole.",
          ...object({ characters: { type: "integer" }, sha256: text }),
        },
        async_mode: { type: "boolean", description: "The caller does not wait for the answer." },
        priority: { enum: [...PRIORITIES] },
      },
      ["parameters_omitted"],
    ),
  },
  "ai.agent.tool.succeeded": {
    description: "The outcome of the call is on record.",
    data: object({ ...IDENTITY, result_summary: text, execution_metadata: METADATA }),
  },
  "ai.agent.tool.failed": { description: "The call ended with an error.", data: FAILED },
  "ai.agent.tool.timeout": { description: "The call took too long; it also failed.", data: FAILED },
};

/** The types of events that are published. */
export const EVENT_TYPES: readonly string[] = Object.keys(DATA);

/** JSON Schema of every event that is published, by the type of the event. */
export function eventSchemas(): JsonObject {
  const definitions = Object.entries(DATA).map(([type, { description, data }]) => [
    type,
    { description, ...object(envelope(type, data)) },
  ]);
  return {
    $schema: "https://json-schema.org/draft/2020-12/schema",
    title: "Events of Sallyport: CloudEvents 1.0",
    oneOf: EVENT_TYPES.map((type) => ({ $ref: `#/$defs/${type}` })),
    $defs: Object.fromEntries(definitions),
  };
}

function envelope(type: string, data: JsonObject): JsonObject {
  return {
    specversion: { const: "1.0" },
    id: { ...text, minLength: 1, description: "The same when the event is sent again." },
    type: { const: type },
    source: { const: "tool-execution-layer" },
    time: { ...text, format: "date-time" },
    datacontenttype: { const: "application/json" },
    partitionkey: { ...text, description: "The tenant; its events are in order." },
    data,
  };
}
