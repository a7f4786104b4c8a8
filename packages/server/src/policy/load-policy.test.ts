import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { completeCall } from "@sallyport/engine/host";
import { type Failure, isFailure } from "@sallyport/protocol";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { loadPolicyFile } from "./load-policy.ts";

let folder = "";
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "sallyport-policy-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

function write(text: string): string {
  const file = join(folder, "rules.yaml");
  writeFileSync(file, text);
  return file;
}

function refusal(text: string): Failure {
  const loaded = loadPolicyFile(write(text));
  if (!isFailure(loaded)) throw new Error("the file should be refused");
  return loaded;
}

const places = (text: string) =>
  (refusal(text).issues ?? []).map(({ path, reason }) => [path.slice(folder.length + 1), reason]);

const repository = (path: string) => fileURLToPath(new URL(`../../../../${path}`, import.meta.url));

describe("the rules file of the example", () => {
  it("loads, and every rule shows what it matches and what not", () => {
    const policy = loadPolicyFile(repository("examples/policy/rules.yaml"));
    if (isFailure(policy)) throw new Error(JSON.stringify(policy.issues, null, 2));
    expect(policy.name).toBe("rules.yaml");
    expect(policy.rules.length).toBeGreaterThanOrEqual(10);
    for (const { examples } of policy.rules)
      expect(Math.min(examples.match, examples.not)).toBeGreaterThan(0);
  });

  it("decides as its comments say", () => {
    const policy = loadPolicyFile(repository("examples/policy/rules.yaml"));
    if (isFailure(policy)) throw new Error(JSON.stringify(policy.issues));
    const decide = (call: Parameters<typeof completeCall>[0]) => policy.decide(completeCall(call));
    expect(decide({ tool: "file.read", input: { path: "/srv/x" } })).toMatchObject({ outcome: "allow" });
    expect(decide({ tool: "file.read", input: { path: "/etc/x" } })).toMatchObject({
      outcome: "deny",
      rules: ["system-files"],
      argument: "/path",
      code: "E3203",
    });
    expect(decide({ tool: "x", sideEffects: "external" })).toMatchObject({ outcome: "deny", rules: [] });
  });
});

describe("the rules file of docs/policy.md", () => {
  it("loads as it stands there", () => {
    const text = readFileSync(repository("docs/policy.md"), "utf8");
    const [, yaml = ""] = /```yaml\n(version: 1\n[\s\S]*?)```/.exec(text) ?? [];
    const policy = loadPolicyFile(write(yaml));
    if (isFailure(policy)) throw new Error(JSON.stringify(policy.issues));
    expect(policy.rules.length).toBeGreaterThan(0);
  });
});

describe("a wrong rules file is refused with file and line (E3223)", () => {
  it("where the YAML is wrong", () => {
    expect(places("version: 1\nrules: [\n")[0]?.[0]).toMatch(/^rules\.yaml:[23]$/);
  });

  it("where a key is wrong, in lists and in maps", () => {
    const text = `version: 1
rules:
  - id: a
    effect: deny
    reason: why
    match:
      tools: [x]
      risk: [low, hihg]
      argument:
        /a: {equals: 1}
    examples: {match: [{tool: x}], not: [{}]}
`;
    expect(places(text)).toEqual([
      ["rules.yaml:8", expect.stringContaining("/rules/0/match/risk/1 must be one of")],
      ["rules.yaml:9", expect.stringContaining('/rules/0/match/argument unknown key "argument"')],
    ]);
  });

  it("where an example is wrong, naming the rule", () => {
    const text = `version: 1
rules:
  - id: a
    effect: allow
    match: {tools: [x]}
    examples:
      match:
        - {tool: x}
        - {tool: y}
      not: [{tool: z}]
`;
    expect(places(text)).toEqual([
      ["rules.yaml:9", expect.stringContaining('rule "a" does not match this example')],
    ]);
  });

  it("where the same key stands twice, a tag is unknown or an alias leads nowhere", () => {
    expect(places("version: 1\nversion: 1\n")[0]?.[0]).toBe("rules.yaml:2");
    expect(places("version: 1\ntier: !odd operator\n")[0]?.[0]).toBe("rules.yaml:2");
    expect(refusal("version: *nowhere\n").code).toBe("E3223");
  });

  it("where aliases would blow up", () => {
    const bomb = [
      "a: &a [x,x,x,x,x,x,x,x,x]",
      ...Array.from("bcdefghi", (key, index) => {
        const before = "abcdefgh"[index];
        return `${key}: &${key} [*${before},*${before},*${before},*${before},*${before},*${before},*${before},*${before}]`;
      }),
    ];
    expect(refusal(bomb.join("\n")).code).toBe("E3223");
  });

  it("when there is no such file, or it is a folder", () => {
    expect(loadPolicyFile(join(folder, "none.yaml"))).toMatchObject({ code: "E3223" });
    expect(loadPolicyFile(folder)).toMatchObject({ code: "E3223" });
  });

  it("follows aliases to the line they stand for", () => {
    const text = `version: 1
rules:
  - &rule
    id: a
    effect: allow
    match: {tols: [x]}
    examples: {match: [{tool: x}], not: [{}]}
`;
    expect(places(text)[0]?.[0]).toBe("rules.yaml:6");
  });
});
