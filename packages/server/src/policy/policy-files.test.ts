import { mkdtempSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { MemoryBus } from "@sallyport/engine";
import { completeCall } from "@sallyport/engine/host";
import { type Failure, isFailure } from "@sallyport/protocol";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { openPolicyFiles, PolicyFiles } from "./policy-files.ts";

let folder = "";
const stops: (() => void)[] = [];
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "sallyport-policy-"));
});
afterEach(() => {
  for (const stop of stops.splice(0)) stop();
  rmSync(folder, { recursive: true });
});

function write(name: string, effect: string, rest = ""): string {
  const file = join(folder, name);
  writeFileSync(file, `version: 1\ndefault: ${effect}\n${rest}rules: []\n`);
  return file;
}

function opened(files: string[], bus = new MemoryBus()): PolicyFiles {
  const policy = openPolicyFiles(files, { bus });
  if (!(policy instanceof PolicyFiles)) throw new Error(JSON.stringify(policy));
  return policy;
}

const call = completeCall({ tool: "t" });

describe("rules files", () => {
  it("have no opinion when there are none", () => expect(openPolicyFiles([])).toBeUndefined());

  it("are refused as a whole when one is wrong, with all that is wrong", () => {
    const right = write("a.yaml", "allow");
    const wrong = [write("b.yaml", "maybe"), write("c.yaml", "perhaps")];
    const refused = openPolicyFiles([right, ...wrong]) as Failure;
    expect(refused).toMatchObject({ code: "E3223", message: "2 policy files are wrong." });
    expect(refused.issues?.map(({ path }) => path)).toEqual(wrong.map((file) => `${file}:2`));
  });

  it("count by their strictest word", () => {
    const files = [write("a.yaml", "allow"), write("b.yaml", "ask", "tier: organisation\n")];
    const policy = opened(files);
    expect(policy.decide(call)).toMatchObject({ outcome: "ask", tier: "organisation" });
    expect(policy.decide(call).policyVersion).toBe(policy.policies.map(({ version }) => version).join("+"));
  });
});

describe("reloading rules files [L3-PRM-3]", () => {
  it("brings new rules into force and says so on the bus", () => {
    const bus = new MemoryBus();
    const heard: unknown[] = [];
    bus.subscribe("policy:updates", (message) => heard.push(message));
    const file = write("a.yaml", "allow");
    const policy = opened([file], bus);
    const before = policy.decide(call).policyVersion;
    write("a.yaml", "deny");
    expect(policy.decide(call).outcome).toBe("allow");
    const done = policy.reload();
    expect(isFailure(done) ? done : done.versions[file]).toBe(policy.policies[0]?.version);
    expect(policy.decide(call).outcome).toBe("deny");
    expect(policy.decide(call).policyVersion).not.toBe(before);
    expect(heard).toEqual([{}]);
  });

  it("keeps the old rules, all of them, when one of the files is wrong, and tells nobody", () => {
    const bus = new MemoryBus();
    const heard: unknown[] = [];
    bus.subscribe("policy:updates", (message) => heard.push(message));
    const policy = opened([write("a.yaml", "ask"), write("b.yaml", "allow")], bus);
    write("a.yaml", "allow");
    write("b.yaml", "nonsense");
    expect(policy.reload()).toMatchObject({
      code: "E3223",
      issues: [{ path: `${join(folder, "b.yaml")}:2` }],
    });
    expect(policy.decide(call).outcome).toBe("ask");
    expect(heard).toEqual([]);
  });

  it("keeps them when a file is gone, too", () => {
    const file = write("a.yaml", "ask");
    const policy = opened([file]);
    renameSync(file, join(folder, "elsewhere"));
    expect(policy.reload()).toMatchObject({ code: "E3223" });
    expect(policy.decide(call).outcome).toBe("ask");
  });
});

describe("watching rules files", () => {
  function watched(files: string[]) {
    const policy = opened(files);
    const seen: string[] = [];
    stops.push(
      policy.watch({
        onReload: () => seen.push(policy.decide(call).outcome),
        onProblem: ({ code }) => seen.push(code),
      }),
    );
    return { policy, seen };
  }

  it("notices a file that is written, and one that is replaced", async () => {
    const file = write("a.yaml", "allow");
    const { seen } = watched([file]);
    write("a.yaml", "deny");
    await expect.poll(() => seen).toEqual(["deny"]);
    renameSync(write("a.yaml.new", "ask"), file);
    await expect.poll(() => seen).toEqual(["deny", "ask"]);
  });

  it("notices a link that leads elsewhere now, as deployments do it", async () => {
    const link = join(folder, "rules.yaml");
    symlinkSync(write("one", "allow"), link);
    const { seen } = watched([link]);
    symlinkSync(write("two", "deny"), join(folder, "next"));
    renameSync(join(folder, "next"), link);
    await expect.poll(() => seen).toEqual(["deny"]);
  });

  it("tells of a wrong file, keeps the old rules, and recovers", async () => {
    const { policy, seen } = watched([write("a.yaml", "ask")]);
    write("a.yaml", "nonsense");
    await expect.poll(() => seen).toEqual(["E3223"]);
    expect(policy.decide(call).outcome).toBe("ask");
    write("a.yaml", "deny");
    await expect.poll(() => seen).toEqual(["E3223", "deny"]);
  });

  it("says nothing of other files, and nothing once it was stopped", async () => {
    const { seen } = watched([write("a.yaml", "ask")]);
    write("other.yaml", "deny");
    await new Promise((resolve) => setTimeout(resolve, 300));
    stops.pop()?.();
    write("a.yaml", "deny");
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect(seen).toEqual([]);
  });

  it("tells when a folder cannot be watched", () => {
    const policy = new PolicyFiles([join(folder, "none", "a.yaml")], []);
    const problems: string[] = [];
    policy.watch({ onReload: () => undefined, onProblem: ({ message }) => problems.push(message) })();
    expect(problems).toEqual([expect.stringContaining("cannot be noticed")]);
  });
});
