import { randomUUID } from "node:crypto";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { NodeStreamableHTTPServerTransport } from "@modelcontextprotocol/node";
import { McpServer } from "@modelcontextprotocol/server";
import { z } from "zod";
import { add } from "../subject.ts";

/*
 * The MCP SDK's own streamable-HTTP server with the same tool, one session. `json` as its argument: it answers with
 * JSON instead of an event stream, which is its default.
 */

const transport = new NodeStreamableHTTPServerTransport({
  sessionIdGenerator: randomUUID,
  enableJsonResponse: process.argv[2] === "json",
});
const mcp = new McpServer({ name: "bench", version: "1.0.0" });
const inputSchema = z.strictObject({ a: z.number(), b: z.number() });
const outputSchema = z.strictObject({ result: z.number() });
mcp.registerTool("add", { description: "a + b", inputSchema, outputSchema }, async (input) => {
  const structuredContent = add(input);
  return { content: [{ type: "text" as const, text: JSON.stringify(structuredContent) }], structuredContent };
});
await mcp.connect(transport);
const server = createServer((request, response) => void transport.handleRequest(request, response));
server.listen(0, "127.0.0.1", () => {
  const { port } = server.address() as AddressInfo;
  console.log(JSON.stringify({ url: `http://127.0.0.1:${port}/mcp` }));
});
process.once("SIGTERM", () => {
  server.close();
  server.closeAllConnections();
});
