import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { findProgram } from "./host/find-program.ts";
import { createSandbox } from "./index.ts";
import { ranOrder, type SandboxFixture, sampleOrder } from "./testing/sandbox-fixture.ts";

const fixture: Partial<SandboxFixture> & { folder?: string } = {};

beforeAll(async () => {
  fixture.folder = await mkdtemp(join(tmpdir(), "sp-"));
  fixture.sandbox = createSandbox({ runtimeFolder: fixture.folder, backends: ["bubblewrap"] });
});

afterAll(async () => {
  await fixture.sandbox?.close();
  if (fixture.folder) await rm(fixture.folder, { recursive: true });
});

const C_PROGRAM = '#include <stdio.h>\nint main(void) { puts("compiled"); return 0; }\n';

const SCRIPTS: Record<string, { needs: string; script: string; says: string }> = {
  shell: { needs: "sh", script: "x=$(echo a | tr a b); (exit 0) & wait; echo $x", says: "b\n" },
  coreutils: {
    needs: "sort",
    script:
      "cd /tmp; mkdir d; cp -r /usr/share/doc/bash d 2>/dev/null; ls -lR d > l; sort l | head -1 | wc -l; df /tmp > /dev/null; date > /dev/null; stat / > /dev/null; timeout 1 true; nice true; rm -rf d",
    says: "1\n",
  },
  bash: {
    needs: "bash",
    script: "bash -c 'a=(1 2 3); echo $((a[1] + a[2])); cat <(echo sub)'",
    says: "5\nsub\n",
  },
  git: {
    needs: "git",
    script:
      "cd /tmp; git init -q r && cd r && git config user.email a@b && git config user.name a && echo x > f && git add f && git commit -qm m && git gc -q && git log --format=%s",
    says: "m\n",
  },
  python: {
    needs: "python3",
    script:
      "/usr/bin/python3 -c 'import ssl, socket, threading, subprocess, multiprocessing as m, tempfile, sqlite3, ctypes; p = m.Pool(2); print(sum(p.map(abs, [-1, -2]))); p.terminate(); t = threading.Thread(target=print); t.start(); subprocess.run([\"true\"])'",
    says: "3\n\n",
  },
  gcc: {
    needs: "gcc",
    script: `cd /tmp; cat > a.c <<'END'\n${C_PROGRAM}END\ngcc -O1 a.c -o a && ./a`,
    says: "compiled\n",
  },
  curl: {
    needs: "curl",
    script: "curl -sS --max-time 2 http://127.0.0.1:9/ 2>/dev/null; echo $?",
    says: "7\n",
  },
  perl: {
    needs: "perl",
    script: "perl -e 'my $p = fork; if (!$p) { exit 3 } wait; print $? >> 8, \"\\n\"'",
    says: "3\n",
  },
  tar: {
    needs: "tar",
    script: "cd /tmp; mkdir t; echo a > t/a; tar czf t.tgz t; tar tzf t.tgz | wc -l",
    says: "2\n",
  },
};

describe("ordinary programs run without any violation:", () => {
  it.each(Object.entries(SCRIPTS))("%s", async (_name, { needs, script, says }) => {
    expect(findProgram(needs), `${needs} is needed for this test`).toBeDefined();
    await expectQuiet(["/bin/sh", "-c", script], says);
  });

  it("Node, with workers, child processes, files and sockets", async () => {
    const script = `
      const { Worker } = require("node:worker_threads");
      const { execFileSync } = require("node:child_process");
      const fs = require("node:fs/promises"); const net = require("node:net");
      (async () => {
        await fs.writeFile("/tmp/a", "x".repeat(1e6));
        await Promise.all([fs.readFile("/tmp/a"), fs.stat("/tmp/a"), fs.readdir("/usr/bin")]);
        execFileSync("true");
        await new Promise((done) => new Worker("0", { eval: true }).on("exit", done));
        const server = net.createServer((socket) => socket.end("hi")).listen(0, () =>
          net.connect(server.address().port).on("data", (text) => { console.log(String(text)); server.close(); }));
      })();`;
    const mounts = [{ source: process.execPath, target: "/node", mode: "ro" as const }];
    await expectQuiet(["/node", "-e", script], "hi\n", { mounts });
  });
});

async function expectQuiet(
  argv: string[],
  says: string,
  changes: Parameters<typeof sampleOrder>[2] = {},
): Promise<void> {
  const { sandbox } = fixture;
  if (!sandbox) throw new Error("There is no sandbox to test in.");
  const order = sampleOrder({ level: "LEVEL_2" }, "", {
    ...changes,
    argv,
    cwd: "/tmp",
    limits: { processes: 256 },
  });
  const { stdout, stderr, end } = await ranOrder(sandbox, order);
  expect({ stdout, stderr, ending: end.ending, violations: end.violations }).toEqual({
    stdout: says,
    stderr: "",
    ending: { kind: "exited", code: 0 },
    violations: [],
  });
}
