import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { newWebhookSecret } from "@sallyport/adapters/webhook";
import type { Issue } from "@sallyport/protocol";
import { afterEach, describe, expect, it, vi } from "vitest";
import { readConfig } from "../../config/load.ts";
import { referenceIssues } from "./config-references.ts";

const VARIABLE = "NOPE_X_OF_A_TEST";
const folders: string[] = [];

afterEach(() => {
  vi.unstubAllEnvs();
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

function issuesOf(config: string, files: Record<string, { text: string; mode?: number }> = {}): Issue[] {
  const folder = mkdtempSync(join(tmpdir(), "sallyport-references-"));
  folders.push(folder);
  writeFileSync(join(folder, "sallyport.yaml"), config);
  for (const [name, { text, mode = 0o600 }] of Object.entries(files))
    writeFileSync(join(folder, name), text, { mode });
  const read = readConfig({ cwd: folder });
  if (!read.ok) throw new Error(JSON.stringify(read.issues));
  return referenceIssues(read);
}

const FROM_ENV = `webhooks: { secret: { env: ${VARIABLE} } }\n`;
const FROM_FILE = "webhooks: { secret: { file: hook.secret } }\n";

it("a capability that a start refuses is refused", () => {
  expect(issuesOf("capabilities: [{ id: custom.thing }]\n")).toEqual([]);
  for (const id of ["state.read", "Bad Name", "x..y"]) {
    const [issue] = issuesOf(`capabilities: [{ id: "${id}" }]\n`);
    expect(issue, id).toMatchObject({ path: expect.stringContaining("sallyport.yaml:1") });
  }
});

describe("the secret of webhooks", () => {
  it("is missed when its variable is not set, and the variable is named", () => {
    expect(issuesOf(FROM_ENV)).toMatchObject([
      {
        path: expect.stringContaining("sallyport.yaml:1"),
        reason: expect.stringMatching(`webhooks\\.secret: .*${VARIABLE}.* not set`),
      },
    ]);
  });

  it("is refused when it is none, and nothing of it is shown", () => {
    vi.stubEnv(VARIABLE, "hunter2");
    const [issue] = issuesOf(FROM_ENV);
    expect(issue?.reason).toContain(VARIABLE);
    expect(JSON.stringify(issue)).not.toContain("hunter2");
  });

  it("is right where one is found", () => {
    vi.stubEnv(VARIABLE, newWebhookSecret());
    expect(issuesOf(FROM_ENV)).toEqual([]);
    expect(issuesOf(FROM_FILE, { "hook.secret": { text: newWebhookSecret() } })).toEqual([]);
  });

  it.each([
    ["there is none", {}],
    ["it is empty", { "hook.secret": { text: "" } }],
    ["others can read it", { "hook.secret": { text: newWebhookSecret(), mode: 0o644 } }],
  ])("is missed in its file when %s, once", (_what, files) => {
    expect(issuesOf(FROM_FILE, files)).toMatchObject([{ reason: expect.stringContaining("hook.secret") }]);
  });
});
