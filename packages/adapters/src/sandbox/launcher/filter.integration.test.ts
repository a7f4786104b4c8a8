import { writeFileSync } from "node:fs";
import { constants } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { filterFor, UNSHARE } from "./fixtures/filters.ts";
import { marked, sleepMark } from "./fixtures/marked-processes.ts";
import { run, type Setting, type Start, settings, temporaryFolder } from "./fixtures/settings.ts";

async function runFiltered(setting: Setting, filter: Buffer, { command, supervise }: Start) {
  using folder = temporaryFolder();
  const path = join(folder.path, "filter.bpf");
  writeFileSync(path, filter, { mode: 0o644 });
  const notify = filter.equals(filterFor(UNSHARE, "notify"));
  const init = { filter: { path, notify } };
  return await run(setting, { command, init, folder: folder.path, ...(supervise && { supervise }) });
}

describe.each(settings())("system call filter: $name", (setting) => {
  const notify = filterFor(UNSHARE, "notify");

  it("refuses a call with EPERM and reports who made it [R1-7.2]", async () => {
    const { end, stderr } = await runFiltered(setting, notify, { command: ["unshare", "-U", "true"] });
    expect(stderr).toContain("Operation not permitted");
    expect(end).toMatchObject({ how: "exited", code: 1, violations: 1 });
    expect(end.refused).toMatchObject([{ nr: UNSHARE, comm: "unshare" }]);
    expect(end.refused[0]?.pid).toBeGreaterThan(0);
  });

  it("names a program that calls itself something else without harm to the report", async () => {
    const rename = `name="$0/$(printf '"}\\\\,\\303')"; cp /usr/bin/unshare "$name"; exec "$name" -U true`;
    using folder = temporaryFolder();
    const filter = join(folder.path, "..filter");
    writeFileSync(filter, notify, { mode: 0o644 });
    const { end } = await run(setting, {
      command: ["sh", "-c", rename, folder.path],
      init: { filter: { path: filter, notify: true } },
      folder: folder.path,
    });
    expect(end.violations).toBe(1);
    expect(end.refused).toMatchObject([{ nr: UNSHARE, comm: '"}\\,?' }]);
  });

  it("ends the run at the first fatal call [R1-7.2]", async () => {
    const mark = sleepMark();
    const { end, stdout } = await runFiltered(setting, notify, {
      command: ["sh", "-c", `sleep ${mark} & unshare -U true; echo went on`],
      supervise: { fatalSyscalls: [1000, UNSHARE] },
    });
    expect(end).toMatchObject({ how: "violation", violations: 1, left: 0 });
    expect(stdout).toBe("");
    expect(marked(mark)).toEqual([]);
  });

  it("ends the run after too many refused calls", async () => {
    const { end } = await runFiltered(setting, notify, {
      command: ["sh", "-c", "while :; do unshare -U true 2>/dev/null; done"],
      supervise: { maxViolations: 3 },
    });
    expect(end).toMatchObject({ how: "violation", violations: 3 });
    expect(end.refused).toHaveLength(3);
  });

  it("lists the first fifty only, and counts on", async () => {
    const { end } = await runFiltered(setting, notify, {
      command: ["sh", "-c", "for i in $(seq 60); do unshare -U true 2>/dev/null; done; exit 4"],
      supervise: { maxViolations: 1000 },
    });
    expect(end).toMatchObject({ how: "exited", code: 4, violations: 60 });
    expect(end.refused).toHaveLength(50);
  });

  it("installs a filter that answers by itself", async () => {
    const { end, stderr } = await runFiltered(setting, filterFor(UNSHARE, "refuse"), {
      command: ["unshare", "-U", "true"],
    });
    expect(stderr).toContain("Permission denied");
    expect(end).toMatchObject({ how: "exited", violations: 0 });
  });

  it("does not run the command without its filter", async () => {
    const broken = await runFiltered(setting, Buffer.alloc(7), { command: ["echo", "ran"] });
    expect(broken.stdout).toBe("");
    expect(broken.end).toMatchObject({ how: "backend-failed", errno: constants.errno.EINVAL });
    const absent = await run(setting, {
      command: ["echo", "ran"],
      init: { filter: { path: "/no/such/filter", notify: true } },
    });
    expect(absent.stdout).toBe("");
    expect(absent.end).toMatchObject({ how: "backend-failed", errno: constants.errno.ENOENT });
  });
});
