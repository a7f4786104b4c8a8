import { createServer } from "node:net";
import { describe, expect, it } from "vitest";
import { listening, openRig, type Rig, readAll, readUntil } from "./fixtures/rig.ts";
import { HttpUpstream } from "./fixtures/upstream.ts";

const RULES = [{ host: "api.test" }, { host: "other.test", port: 80 }];
const get = (path: string, head = "Connection: close\r\n", host = "api.test") =>
  `GET http://${host}${path} HTTP/1.1\r\nHost: ${host}\r\n${head}\r\n`;

describe("a connection kept [L3-EXE-2]", () => {
  async function ask(rig: Rig, requests: string[]): Promise<string[]> {
    const client = rig.client();
    const answers: string[] = [];
    for (const request of requests) {
      client.write(request);
      answers.push(await readUntil(client, /\r\n\r\n[\s\S]+/));
    }
    client.destroy();
    return answers;
  }

  it("goes on upstream for the same host, and is checked anew for another", async () => {
    await using upstream = await new HttpUpstream().start();
    await using rig = await openRig({ rules: RULES }, upstream.port);
    const answers = await ask(rig, [
      get("/1", ""),
      get("/2", ""),
      get("/3", "", "other.test"),
      get("/4", "", "evil.test"),
      get("/5", "", "api.test"),
    ]);
    expect(answers.map((answer) => answer.split("\r\n\r\n")[1]?.slice(0, 10))).toEqual([
      "GET /1 ",
      "GET /2 ",
      "GET /3 ",
      "E3104: evi",
      "GET /5 ",
    ]);
    expect(upstream.accepted).toBe(3);
    expect(upstream.requests.map(({ headers }) => headers.host)).toEqual([
      "api.test",
      "api.test",
      "other.test",
      "api.test",
    ]);
  });

  it("ends with its kept upstream, so that the client decides whether to repeat", async () => {
    const server = createServer((socket) => {
      let seen = 0;
      socket.on("error", () => undefined);
      socket.on("data", () => {
        seen += 1;
        if (seen === 1) socket.write("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
        else socket.destroy();
      });
    });
    await using rig = await openRig({ rules: RULES }, await listening(server));
    const client = rig.client();
    client.write(get("/1", ""));
    await readUntil(client, /ok$/);
    client.write(get("/2", ""));
    expect((await readAll(client)).toString()).toBe("");
    await new Promise((done) => server.close(done));
  });

  it("dials anew when upstream does not keep it", async () => {
    await using upstream = await new HttpUpstream((_, res) =>
      res.setHeader("connection", "close").end("bye"),
    ).start();
    await using rig = await openRig({ rules: RULES }, upstream.port);
    expect(await ask(rig, [get("/1", ""), get("/2", "")])).toHaveLength(2);
    expect(upstream.accepted).toBe(2);
  });

  it("answers requests that were sent at once in their order, and ends when there are too many", async () => {
    await using upstream = await new HttpUpstream().start();
    await using rig = await openRig({ rules: RULES }, upstream.port);
    const said = await rig.speak(get("/1", "") + get("/2", "") + get("/3", "", "evil.test") + get("/4"));
    expect(said.match(/GET \/\d|E3104:/g)).toEqual(["GET /1", "GET /2", "E3104:", "GET /4"]);
    expect(await rig.speak(get("/", "").repeat(50))).not.toMatch(/(?:GET \/ [\s\S]*){9}/);
  });

  it("cannot become a tunnel while answers are owed", async () => {
    await using upstream = await new HttpUpstream(() => undefined).start();
    await using rig = await openRig({ rules: RULES }, upstream.port);
    expect(await rig.speak(`${get("/1", "")}CONNECT api.test:80 HTTP/1.1\r\n\r\n`)).toBe("");
  });
});
