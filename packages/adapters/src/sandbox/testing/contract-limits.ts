import { LIMIT_NAMES } from "@sallyport/protocol";
import { expect, it } from "vitest";
import { inOpenFolder, MIB, makeView, type OpenSandbox, ran } from "./sandbox-fixture.ts";

const exceeded = (limit: string) => expect.objectContaining({ kind: "limit", limit });

/** Each limit, and that passing it ends the run with its name. */
export function limitsContract(open: OpenSandbox): void {
  it("memory of the whole tree [MCX-7] [R1-5.2]", async () => {
    const { end } = await ran(open(), "head -c 400M /dev/zero | tail | cat", {
      limits: { memoryBytes: 96 * MIB },
    });
    expect(end.ending).toEqual(exceeded("memory"));
    expect(end.enforcement.memory).toMatch(/cgroup|watch/);
  });

  it("processor time of the whole tree [MCX-7]", async () => {
    const spin = "while :; do :; done";
    const { end } = await ran(open(), `(${spin}) & (${spin}) & wait`, { limits: { cpuMs: 600 } });
    expect(end.ending).toEqual(exceeded("cpu"));
    expect(end.usage.cpuMs).toBeGreaterThanOrEqual(500);
    expect(end.usage.cpuMs).toBeLessThan(60_000);
  });

  it("processes", async () => {
    const bomb = "i=0; while [ $i -lt 60 ]; do sleep 100 & i=$((i+1)); done; wait";
    const { end } = await ran(open(), bomb, { limits: { processes: 16 } });
    expect(end.ending).toEqual(exceeded("processes"));
  });

  it("processes, against a fork bomb that does not give up", async () => {
    const argv = ["/bin/bash", "-c", ":(){ :|:& };:; sleep 100"];
    const { end } = await ran(open(), "", { argv, limits: { processes: 32 } });
    expect(end.ending).toEqual(exceeded("processes"));
  });

  it("open files, of which a program learns itself [MCX-7]", async () => {
    const { stdout, end } = await ran(open(), "ulimit -n", { limits: { openFiles: 33 } });
    expect(stdout).toBe("33\n");
    expect(end.enforcement.openFiles).toBe("rlimit");
  });

  it("the size of one file", async () => {
    const script = "cd /tmp && f=$(mktemp) && trap 'rm -f $f' EXIT; exec head -c 3M /dev/zero > $f";
    const { end } = await ran(open(), script, { limits: { fileBytes: MIB } });
    expect(end.ending).toEqual(exceeded("fileSize"));
  });

  it("what a workspace takes on disk", () =>
    inOpenFolder(async (folder) => {
      const workspace = await makeView(folder);
      const script =
        "i=0; while [ $i -lt 40 ]; do head -c 1M /dev/urandom > f$i; i=$((i+1)); sleep 0.05; done";
      const { end } = await ran(open(), script, {
        workspace,
        cwd: workspace.root,
        limits: { diskBytes: 8 * MIB },
      });
      expect(end.ending).toEqual(exceeded("disk"));
      expect(end.enforcement.disk).toBe("watch");
    }));

  it("anything: the answer says how each was held [MCX-7]", async () => {
    const { end } = await ran(open(), "true", { limits: { cpuMs: 5_000 } });
    expect(Object.keys(end.enforcement).toSorted()).toEqual([...LIMIT_NAMES].toSorted());
  });

  it("output, with what came before still delivered", async () => {
    const script = "head -c 30000 /dev/zero; head -c 30000 /dev/zero >&2; cat /dev/zero";
    const startedAt = performance.now();
    const { stdout, stderr, end } = await ran(open(), script, { limits: { outputBytes: 100_000 } });
    expect(end.ending).toEqual(exceeded("output"));
    expect(stdout.length + stderr.length).toBe(100_000);
    expect(stdout.length).toBeGreaterThan(30_000);
    expect(performance.now() - startedAt).toBeLessThan(60_000);
  });
}
