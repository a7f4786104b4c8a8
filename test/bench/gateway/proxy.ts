import { Agent, createServer, request } from "node:http";
import type { AddressInfo } from "node:net";

/* The reference: a reverse proxy in front of the address that is its only argument, which looks at nothing. */

const [upstream = ""] = process.argv.slice(2);
const agent = new Agent({ keepAlive: true });
const server = createServer((asked, answer) => {
  const { method, headers } = asked;
  const onward = request(
    `${upstream}${asked.url}`,
    { agent, ...(method && { method }), headers },
    (given) => {
      answer.writeHead(given.statusCode ?? 502, given.headers);
      given.pipe(answer);
    },
  );
  onward.once("error", () => answer.writeHead(502).end());
  asked.pipe(onward);
});
server.listen(0, "127.0.0.1", () => {
  const { port } = server.address() as AddressInfo;
  console.log(JSON.stringify({ url: `http://127.0.0.1:${port}` }));
});
process.once("SIGTERM", () => {
  server.close();
  server.closeAllConnections();
  agent.destroy();
});
