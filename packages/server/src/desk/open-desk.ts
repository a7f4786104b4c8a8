import { chmodSync, mkdirSync, rmSync } from "node:fs";
import { createServer, type Socket } from "node:net";
import { VERSION } from "../version.ts";
import { DeskConversation } from "./desk-conversation.ts";
import { deskFolder, deskPlace } from "./desk-place.ts";
import { DESK_VERSION, type Greeting } from "./desk-words.ts";
import type { EngineAccess } from "./engine-access.ts";

export interface OpenDesk {
  /** Lets go of whoever stands there; what they asked for is cancelled. Never rejects. */
  close(): Promise<void>;
}

/**
 * Opens the desk of the server that holds this state folder. Undefined when there is no place for one. Rejects when the
 * socket cannot be made; a socket that a killed process left is in nobody's use, because the folder is ours.
 */
export async function openDesk(desk: EngineAccess, stateFolder: string): Promise<OpenDesk | undefined> {
  mkdirSync(deskFolder(stateFolder), { recursive: true, mode: 0o700 });
  const place = deskPlace(stateFolder);
  if (place === undefined) return undefined;
  const { path } = place;
  rmSync(path, { force: true });
  const visitors = new Set<Socket>();
  const server = createServer((socket) => {
    visitors.add(socket);
    socket.once("close", () => visitors.delete(socket));
    receive(socket, desk);
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(path, resolve);
  });
  // The folder is closed to others already; this is for whoever opens it up.
  chmodSync(path, 0o600);
  return {
    close: () =>
      new Promise((resolve) => {
        server.close(() => {
          place.leave();
          resolve();
        });
        for (const socket of visitors) socket.destroy();
      }),
  };
}

function receive(socket: Socket, desk: EngineAccess): void {
  const greeting: Greeting = { sallyport: VERSION, desk: DESK_VERSION };
  const say = (words: object) => {
    if (socket.writable) socket.write(`${JSON.stringify(words)}\n`);
  };
  say(greeting);
  const conversation = new DeskConversation(desk, { say, hangUp: () => socket.destroy() });
  socket.on("data", (chunk: Buffer) => conversation.hear(chunk));
  // Whoever asked is gone: so is the reason to go on with it.
  socket.once("close", () => conversation.end());
  socket.on("error", () => socket.destroy());
}
