import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import { describe, expect, it } from "vitest";
import { UnsentBytes } from "./unsent-bytes.ts";

const MIB = 1024 * 1024;

describe("answers that nobody reads", () => {
  it("are cut off, the oldest first, once they are too many bytes together", async () => {
    const unsent = new UnsentBytes(40 * MIB);
    const answered: ServerResponse[] = [];
    const server = createServer((_, response) => {
      response.end(Buffer.alloc(16 * MIB));
      answered.push(response);
      unsent.add(response);
    }).listen(0, "127.0.0.1");
    await once(server, "listening");
    const clients: Socket[] = [];
    for (let index = 0; index < 3; index += 1) {
      const client = connect((server.address() as AddressInfo).port, "127.0.0.1");
      client.on("error", () => undefined).pause();
      client.write("GET / HTTP/1.1\r\nhost: a\r\n\r\n");
      clients.push(client);
      await once(server, "request");
    }
    expect(answered.map(({ destroyed }) => destroyed)).toEqual([true, false, false]);
    expect(unsent.bytes).toBeLessThanOrEqual(40 * MIB);
    for (const client of clients) client.destroy();
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
    await expect.poll(() => unsent.bytes).toBe(0);
  });
});
