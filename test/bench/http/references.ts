import { fileURLToPath } from "node:url";
import { startServer } from "./child-server.ts";
import type { HttpContender } from "./contender.ts";

/** Fastify reading and writing the same JSON as the server: what a request costs before anything is guarded. */
export async function echoContender(server: HttpContender): Promise<HttpContender> {
  const answer = await (await fetch(server.url, { method: "POST", ...server.request(0) })).text();
  if (!server.isRight(answer)) throw new Error(`${server.name} answered: ${answer}`);
  const { report, pid, close } = await startServer<{ url: string }>([script("./echo-server.ts"), answer]);
  return { ...server, name: "Fastify echo of the same JSON", url: report.url, pid, close };
}

/** The MCP SDK's server with the same tool. */
export async function mcpContender(answers: "stream" | "json"): Promise<HttpContender> {
  const { report, pid, close } = await startServer<{ url: string }>([script("./mcp-server.ts"), answers]);
  const session = await openSession(report.url);
  return {
    name: `MCP SDK v2 streamable HTTP, ${answers === "json" ? "JSON answers" : "event streams"}`,
    url: report.url,
    pid,
    // The session tells requests apart by their ids, so each connection has one of its own.
    request: (connection) => ({
      headers: { ...MCP_HEADERS, "mcp-session-id": session, "mcp-protocol-version": PROTOCOL },
      body: message({
        id: connection + 1,
        method: "tools/call",
        params: { name: "add", arguments: { a: 2, b: 3 } },
      }),
    }),
    isRight: (body) => body.includes('"structuredContent":{"result":5}'),
    close,
  };
}

const PROTOCOL = "2025-11-25";
const MCP_HEADERS = {
  accept: "application/json, text/event-stream",
  "content-type": "application/json",
};

async function openSession(url: string): Promise<string> {
  const clientInfo = { name: "bench", version: "1.0.0" };
  const params = { protocolVersion: PROTOCOL, capabilities: {}, clientInfo };
  const opened = await post(url, MCP_HEADERS, message({ id: 0, method: "initialize", params }));
  const session = opened.headers.get("mcp-session-id");
  if (!opened.ok || session === null) throw new Error(`No session: ${opened.status} ${await opened.text()}`);
  await opened.text();
  const headers = { ...MCP_HEADERS, "mcp-session-id": session, "mcp-protocol-version": PROTOCOL };
  await (await post(url, headers, message({ method: "notifications/initialized" }))).text();
  return session;
}

function post(url: string, headers: Record<string, string>, body: string): Promise<Response> {
  return fetch(url, { method: "POST", headers, body });
}

function message(content: object): string {
  return JSON.stringify({ jsonrpc: "2.0", ...content });
}

function script(name: string): string {
  return fileURLToPath(new URL(name, import.meta.url));
}
