import { type ErrorCode, failure } from "@sallyport/protocol";
import { describe, expect, it } from "vitest";
import { plainEngine } from "./fixtures/door.ts";
import { opening } from "./fixtures/opening.ts";

const open = opening();

describe("POST /v1/tools/{tool_id}:run", () => {
  it.each<[ErrorCode, number, string]>([
    ["E3102", 502, "INTERNAL"],
    ["E3107", 502, "UPSTREAM_ERROR"],
    ["E3108", 502, "UPSTREAM_ERROR"],
    ["E3501", 502, "INTERNAL"],
    ["E3103", 504, "TIMEOUT"],
  ])(
    "answers what the worker of a run did to itself as no failure of the gateway: %s is %i [AX-RUN-1]",
    async (code, status, word) => {
      const { parts, ask } = await open();
      const { call } = plainEngine(parts);
      parts.engine = {
        ...plainEngine(parts),
        call: async (request) => {
          const { status: _status, ...answer } = await call({ ...request, tool: "none" });
          return { ...answer, status: "error", error: failure(code) };
        },
      };
      const reply = await ask("runTool", { params: { tool_id: "sum" }, body: { input: { a: 2, b: 3 } } });
      expect([reply.status, reply.json.error]).toMatchObject([status, { code: word, details: { code } }]);
    },
  );
});
