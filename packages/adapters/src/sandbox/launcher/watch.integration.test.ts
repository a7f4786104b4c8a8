import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { marked, sleepMark } from "./fixtures/marked-processes.ts";
import { run, settings, temporaryFolder } from "./fixtures/settings.ts";

const MB = 1024 * 1024;

describe.each(settings())("watched limits: $name", (setting) => {
  it("ends a tree that takes too much memory together [FR-EXE-06]", async () => {
    // Each stays below the limit; only their sum is over it.
    const eater = '$kept = "x" x 60_000_000; sleep 120';
    const { end } = await run(setting, {
      command: ["sh", "-c", 'perl -e "$0" & perl -e "$0" & wait', eater],
      supervise: { watch: { memoryBytes: 100 * MB, everyMs: 20 } },
    });
    expect(end).toMatchObject({ how: "limit", limit: { limit: "memory" }, left: 0 });
    expect(end.limit?.value).toBeGreaterThan(100 * MB);
  });

  it("leaves a tree alone that stays below its limits", async () => {
    using folder = temporaryFolder();
    const { end } = await run(setting, {
      command: ["sh", "-c", `echo x > ${join(folder.path, "f")}; sleep 0.2`],
      folder: folder.path,
      supervise: {
        watch: {
          everyMs: 10,
          memoryBytes: 50 * MB,
          cpuMs: 60_000,
          processes: 5,
          disk: { bytes: MB, paths: [folder.path] },
        },
      },
    });
    expect(end).toMatchObject({ how: "exited", code: 0 });
    expect(end.limit).toBeUndefined();
  });

  it("ends a tree that takes too much processor time, ended children included [FR-EXE-06]", async () => {
    const short = "do { ($u, $s) = times } while $u + $s < 0.03";
    const { end } = await run(setting, {
      command: ["sh", "-c", 'while :; do perl -e "$0"; done', short],
      supervise: { watch: { cpuMs: 400, everyMs: 20 } },
    });
    expect(end).toMatchObject({ how: "limit", limit: { limit: "cpu" } });
    expect(end.userMs + end.systemMs).toBeGreaterThan(300);
    expect(end.wallMs).toBeLessThan(60_000);
  });

  it("does not lose the time of children that nobody waits for", async () => {
    const forget = `
      $SIG{CHLD} = "IGNORE";
      for (1 .. 4) { if (!fork) { do { ($u, $s) = times } while $u + $s < 0.3; exit } wait }
    `;
    const { end } = await run(setting, {
      command: ["perl", "-e", forget],
      supervise: { watch: { everyMs: 10, cpuMs: 60_000 } },
    });
    expect(end.how).toBe("exited");
    expect(end.userMs + end.systemMs).toBeGreaterThan(150);
  });

  it("ends a tree of too many processes [FR-EXE-06]", async () => {
    const mark = sleepMark();
    const { end } = await run(setting, {
      command: ["sh", "-c", `for i in $(seq 30); do sleep ${mark} & done; wait`],
      supervise: { watch: { processes: 15, everyMs: 10 } },
    });
    expect(end).toMatchObject({ how: "limit", limit: { limit: "processes" }, left: 0 });
    expect(marked(mark)).toEqual([]);
  });

  it("ends a tree that fills the disk, in files many or large [FR-EXE-06]", async () => {
    using folder = temporaryFolder();
    const watch = { everyMs: 10, disk: { bytes: 3 * MB, paths: [folder.path] } };
    const fill = `i=0; while :; do i=$((i+1)); mkdir -p d/$((i%7)); head -c 100000 /dev/zero > d/$((i%7))/$i; done`;
    const { end } = await run(setting, {
      command: ["sh", "-c", fill],
      init: { folder: folder.path },
      folder: folder.path,
      supervise: { watch },
    });
    expect(end).toMatchObject({ how: "limit", limit: { limit: "disk" } });
    expect(end.limit?.value).toBeGreaterThan(3 * MB);
  });

  it("sees files that have no name any more [FR-EXE-06]", async () => {
    using folder = temporaryFolder();
    const watch = { everyMs: 10, disk: { bytes: 3 * MB, paths: [folder.path] } };
    const { end } = await run(setting, {
      command: ["sh", "-c", "exec 9>hidden; rm hidden; head -c 5000000 /dev/zero >&9; sleep 80"],
      init: { folder: folder.path },
      folder: folder.path,
      supervise: { watch },
    });
    expect(end).toMatchObject({ how: "limit", limit: { limit: "disk" } });
  });

  it("looks into folders that are closed as soon as they are filled [FR-EXE-06]", async () => {
    using folder = temporaryFolder();
    const hide =
      "i=0; while :; do i=$((i+1)); mkdir d$i; head -c 200000 /dev/zero > d$i/f; chmod 0 d$i; done";
    const { end } = await run(setting, {
      command: ["sh", "-c", hide],
      init: { folder: folder.path },
      folder: folder.path,
      supervise: { watch: { everyMs: 10, disk: { bytes: 3 * MB, paths: [folder.path] } } },
    });
    expect(end).toMatchObject({ how: "limit", limit: { limit: "disk" } });
  });

  it("lets a command close a folder of its own", async () => {
    using folder = temporaryFolder();
    const { end } = await run(setting, {
      command: ["sh", "-c", "mkdir d; echo x > d/f; chmod 0 d; sleep 0.2"],
      init: { folder: folder.path },
      folder: folder.path,
      supervise: { watch: { everyMs: 10, disk: { bytes: MB, paths: [folder.path] } } },
    });
    expect(end).toMatchObject({ how: "exited", code: 0 });
  });

  it("does not count its own work as the command's", async () => {
    using folder = temporaryFolder();
    for (let i = 0; i < 600; i++) writeFileSync(join(folder.path, `${i}`), "");
    const { end } = await run(setting, {
      command: ["sleep", "3"],
      folder: folder.path,
      supervise: {
        watch: { everyMs: 1, cpuMs: 10_000, disk: { bytes: 2 ** 50, paths: Array(8).fill(folder.path) } },
      },
    });
    expect(end).toMatchObject({ how: "exited", code: 0 });
    // Its own is a good part of those three seconds.
    expect(end.userMs + end.systemMs).toBeLessThan(400);
  });

  it("counts a file with several names once", async () => {
    using folder = temporaryFolder();
    const { end } = await run(setting, {
      command: [
        "sh",
        "-c",
        "head -c 1000000 /dev/zero > a; for i in 1 2 3 4 5; do ln a b$i; done; sleep 0.1",
      ],
      init: { folder: folder.path },
      folder: folder.path,
      supervise: { watch: { everyMs: 10, disk: { bytes: 3 * MB, paths: [folder.path] } } },
    });
    expect(end).toMatchObject({ how: "exited", code: 0 });
  });
});
