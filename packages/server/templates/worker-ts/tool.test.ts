import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { defineWorker } from "@sallyport/worker";
import { countWords } from "./tool.ts";

const worker = defineWorker({ tools: { "example-worker": countWords } });
let url: string;
before(async () => {
  ({ url } = await worker.listen({ port: 0 }));
});
after(() => worker.close());

async function run(input: object) {
  const meta = { trace_id: "t", tool_run_id: "r", domain_id: "d", deadline_ms: Date.now() + 10_000 };
  const headers = { "content-type": "application/json" };
  const body = JSON.stringify({ meta, input });
  const response = await fetch(`${url}/run`, { method: "POST", headers, body });
  return JSON.parse(await response.text());
}

test("counts words", async () => {
  const answer = await run({ text: " two  words\n" });
  assert.deepEqual(answer.output, { words: 2 });
});

test("says what is wrong with an input", async () => {
  const answer = await run({ text: 1 });
  assert.equal(answer.error.code, "VALIDATION_ERROR");
});
