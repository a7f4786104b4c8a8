import { describe, expect, it } from "vitest";
import { initArgv } from "./init-argv.ts";

describe("initArgv", () => {
  it("runs the command and nothing else when nothing else is wanted", () => {
    expect(initArgv({ launcher: "/l", command: ["sh", "-c", "--"] })).toEqual([
      "/l",
      "init",
      "--",
      "sh",
      "-c",
      "--",
    ]);
  });

  it("puts each option into arguments of its own", () => {
    const argv = initArgv({
      launcher: "/l",
      command: ["sh"],
      rlimits: { nofile: 64, cpu: 3.9, as: 2 ** 40 },
      filter: { path: "/f", notify: true },
      forwards: [
        { port: 3128, socket: "/run/a" },
        { port: 1080, socket: "/run/b" },
      ],
      env: true,
      nice: 10,
      session: true,
      folder: "/ws",
      channelFd: 5,
    });
    expect(argv.join(" ")).toBe(
      "/l init --channel-fd 5 --rlimit as=1099511627776 --rlimit cpu=3 --rlimit nofile=64 --filter /f --notify " +
        "--forward 3128=/run/a --forward 1080=/run/b --env --nice 10 --session --chdir /ws -- sh",
    );
  });

  it("asks for no listener when the filter answers by itself", () => {
    expect(
      initArgv({ launcher: "/l", command: ["sh"], filter: { path: "/f", notify: false } }),
    ).not.toContain("--notify");
  });
});
