import { createClient } from "@sallyport/client";
import { expect, it } from "vitest";
import { sharedServer } from "./fixtures/shared-server.ts";

const server = sharedServer();
const client = () => createClient({ url: server().url });

it("the client invokes a tool of a server and asks how the call stands", async () => {
  const ran = await client().invoke({ tool_id: "echo", parameters: { text: "hello" } });
  expect(ran).toMatchObject({ ok: true, value: { status: "success" } });
  const callId = ran.ok ? ran.value.invocation_id : "";
  expect(await client().status(callId)).toMatchObject({ ok: true, value: { status: "success" } });
});

it("the client understands how a server refuses", async () => {
  const { invoke, status, domain } = client();
  expect(await invoke({ tool_id: "nothing", parameters: {} })).toMatchObject({
    error: { code: "E3001", status: 404, retryable: false, callId: expect.any(String) },
  });
  expect(await invoke({ tool_id: "", parameters: {} })).toMatchObject({
    error: { code: "E3903", status: 400, issues: [{ path: "/tool_id" }] },
  });
  expect(await status("0198c0de-0000-7000-8000-000000000000")).toMatchObject({
    error: { code: "E3917", status: 404, advice: expect.any(String) },
  });
  // This server has no domain.
  expect(await domain()).toMatchObject({ error: { code: "E3930", status: 404 } });
});
