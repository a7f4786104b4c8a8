import type { ServerResponse } from "node:http";

/** Cuts off a client that takes nothing of what waits for it: its answer is held in memory, and so is its place. */
export function watchStall(response: ServerResponse, stallMs: number): void {
  const { socket } = response;
  if (!socket) return;
  let taken = -1;
  const timer = setInterval(() => {
    const isWaiting = response.writableLength > 0 || socket.writableLength > 0;
    const hasTaken = socket.bytesWritten - socket.writableLength;
    if (isWaiting && hasTaken === taken) socket.destroy();
    taken = hasTaken;
  }, stallMs);
  timer.unref();
  response.once("close", () => clearInterval(timer));
}
