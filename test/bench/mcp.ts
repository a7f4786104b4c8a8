import { Client, InMemoryTransport } from "@modelcontextprotocol/client";
import { McpServer } from "@modelcontextprotocol/server";
import { z } from "zod";
import type { Contender } from "./measure.ts";
import { add } from "./subject.ts";

/** The same tool behind the MCP SDK, client and server in one process: schemas in and out, nothing guarded or kept. */
export async function mcpContender(): Promise<Contender> {
  const server = new McpServer({ name: "bench", version: "1.0.0" });
  const inputSchema = z.strictObject({ a: z.number(), b: z.number() });
  const outputSchema = z.strictObject({ result: z.number() });
  server.registerTool("add", { description: "a + b", inputSchema, outputSchema }, async (input) => {
    const structuredContent = add(input);
    return {
      content: [{ type: "text" as const, text: JSON.stringify(structuredContent) }],
      structuredContent,
    };
  });
  const client = new Client({ name: "bench", version: "1.0.0" });
  const [here, there] = InMemoryTransport.createLinkedPair();
  await Promise.all([server.connect(there), client.connect(here)]);
  return {
    name: "MCP SDK v2 in memory, unguarded",
    call: () => client.callTool({ name: "add", arguments: { a: 2, b: 3 } }),
    calls: { one: 5_000, many: 30_000 },
    close: () => client.close(),
  };
}
