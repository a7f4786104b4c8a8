import { describe, expect, it } from "vitest";
import { superviseArgv } from "./supervise-argv.ts";

describe("superviseArgv", () => {
  it("asks for a report and nothing else when nothing else is wanted", () => {
    expect(superviseArgv({ launcher: "/l", backend: ["/b", "-x", "--"] })).toEqual([
      "supervise",
      "--report-fd",
      "3",
      "--",
      "/b",
      "-x",
      "--",
    ]);
  });

  it("puts each option into arguments of its own", () => {
    const argv = superviseArgv({
      launcher: "/l",
      backend: ["/b"],
      env: { SECRET: "never in an argument" },
      user: { uid: 65534, gid: 65533 },
      overlay: { lower: "/a,b", upper: "/u:p", work: "/w k", target: "/t" },
      idmap: { uid: 0, gid: 7 },
      binds: [
        { source: "/s", target: "/d" },
        { source: "/m", target: "/n", idmap: true },
      ],
      cgroups: ["/c1", "/c2"],
      wallMs: 1500.7,
      watch: {
        everyMs: 20,
        idleMs: 80,
        noSharedMemory: true,
        memoryBytes: 2 ** 40,
        cpuMs: 5,
        processes: 6,
        disk: { bytes: 9, paths: ["/x", "/y"] },
      },
      fatalSyscalls: [165, 101],
      maxViolations: 4,
      channelFd: 3,
    });
    const expected = [
      "supervise --report-fd 3 --env-fd 4 --channel-fd 3 --uid 65534 --gid 65533 --cgroup /c1 --cgroup /c2",
      "--overlay /a,b /u:p /w_k /t --idmap 0 7 --bind /s /d --bind-idmap /m /n --wall-ms 1500 --watch-ms 20",
      "--watch-idle-ms 80 --no-shared-memory --watch-memory 1099511627776 --watch-cpu-ms 5 --watch-processes 6 --watch-disk 9 --disk-path /x",
      "--disk-path /y --fatal 165,101 --max-violations 4 -- /b",
    ];
    expect(argv.map((item) => item.replace("/w k", "/w_k"))).toEqual(expected.join(" ").split(" "));
  });

  it("writes large numbers in plain digits", () => {
    const argv = superviseArgv({ launcher: "/l", backend: ["/b"], watch: { memoryBytes: 1e21 } });
    expect(argv).toContain("1000000000000000000000");
  });
});
