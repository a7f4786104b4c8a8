import { existsSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { TokenChecker } from "@sallyport/engine";
import { isFailure } from "@sallyport/protocol";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { loadKeys } from "../../keys/index.ts";
import { TokenLine } from "./fixtures/token-line.ts";

let line: TokenLine;
beforeEach(() => {
  line = new TokenLine();
});
afterEach(() => line.remove());

const MINT = ["token", "mint", "--agent", "agent-7", "--tenant", "acme", "--tool", "file.read"];
const mint = async (...more: string[]) => (await line.run([...MINT, ...more])).out.trim();
const claimsOf = (token: string) =>
  JSON.parse(Buffer.from(token.split(".")[1] ?? "", "base64url").toString());

describe("sallyport token mint", () => {
  beforeEach(async () => {
    await line.run(["keys", "init"]);
  });

  it("prints the token alone, good for fifteen minutes [L3-PRM-1]", async () => {
    const { out, err } = await line.run(MINT);
    expect(out).toMatch(/^[\w-]+\.[\w-]+\.[\w-]+\n$/);
    const claims = claimsOf(out);
    expect(claims.exp - claims.iat).toBe(900);
    expect(claims).toMatchObject({ iss: "sallyport", tool_version: "*", allowed_operations: ["execute"] });
    expect(Object.keys(claims)).not.toContain("filesystem_permissions");
    expect(err).toContain(claims.jti);
    expect(err).not.toContain(out.trim());
    const keys = loadKeys(line.keyFolder);
    if (isFailure(keys)) throw new Error(keys.message);
    const query = {
      caller: { agent: "agent-7", tenant: "acme" },
      tool: "file.read",
      version: "1.0.0",
      at: Date.now(),
    };
    expect(new TokenChecker({ keys: keys.public }).check(out.trim(), query)).toMatchObject({
      jti: claims.jti,
    });
  });

  it("puts every flag into the token", async () => {
    const token = await mint(
      ...["--tool-version", "^1.0.0", "--ttl", "24h", "--operations", "execute,list"],
      ...["--path", "/a:rw", "--path", "/b:rw", "--host", "x.example:443", "--host", "y.example:443"],
      ...["--secret", "api_key", "--secret", "other"],
    );
    const claims = claimsOf(token);
    expect(claims).toMatchObject({
      tool_version: "^1.0.0",
      allowed_operations: ["execute", "list"],
      filesystem_permissions: { allowed_paths: ["/a", "/b"], mode: "rw" },
      network_permissions: { allowed_hosts: ["x.example", "y.example"], allowed_ports: [443] },
      credential_permissions: { allowed_secrets: ["api_key", "other"] },
    });
    expect(claims.exp - claims.iat).toBe(86_400);
  });

  it("gives one document with --json", async () => {
    const { token, jti } = JSON.parse(await mint("--json"));
    expect(claimsOf(token).jti).toBe(jti);
  });

  it.each<[string, string[], RegExp]>([
    ["longer than a day", ["--ttl", "25h"], /at most 24h/],
    ["without an end", ["--ttl", "forever"], /length of time/],
    ["with a path without mode", ["--path", "/a"], /ro or \/data:rw/],
    ["with two modes", ["--path", "/a:ro", "--path", "/b:rw"], /one mode/],
    ["with a host without port", ["--host", "x.example"], /a host and a port/],
    ["that would open more than asked", ["--host", "a:80", "--host", "b:443"], /also allow a:443, b:80/],
    ["for a range that is none", ["--tool-version", "newest"], /tool_version/],
    ["that allows no calls", ["--operations", "list"], /does not allow calls/],
  ])("refuses a token %s", async (_, flags, words) => {
    const refused = await line.refusal([...MINT, ...flags]);
    expect(typeof refused === "string" ? refused : refused.message).toMatch(words);
  });

  it("never guesses for whom a token is", async () => {
    for (const missing of ["--agent", "--tenant", "--tool"]) {
      const at = MINT.indexOf(missing);
      expect(await line.refusal([...MINT.slice(0, at), ...MINT.slice(at + 2)])).toMatch(missing);
    }
  });
});

describe("sallyport token inspect", () => {
  beforeEach(async () => {
    await line.run(["keys", "init"]);
  });

  it("shows what a token says and which checks it passes, never its signature", async () => {
    const token = await mint("--path", "/data:ro");
    const asked = ["token", "inspect", "-", "--agent", "agent-7", "--tenant", "acme", "--tool", "file.read"];
    const { out, code } = await line.run([...asked, "--tool-version", "1.0.0"], `${token}\n`);
    expect(code).toBe(0);
    for (const words of [
      "alg",
      "kid",
      'tool_id: "file.read"',
      "/data",
      "✓ signature",
      "✓ tool",
      "✓ revocation",
    ])
      expect(out).toContain(words);
    expect(out).toMatch(/exp: \d+ \(20\d\d-.*Z, in 14 min\)/);
    expect(out).not.toContain(token.split(".")[2]);
    expect(out).not.toContain("✗");
  });

  it("says what fails and exits with 1", async () => {
    writeFileSync(join(line.cwd, "t.jwt"), await mint());
    const { out, code } = await line.run([
      "token",
      "inspect",
      "@t.jwt",
      "--agent",
      "agent-8",
      "--tool",
      "file.write",
    ]);
    expect(code).toBe(1);
    expect(out).toMatch(/✗ agent and tenant \(E3201\): .*another agent/);
    expect(out).toMatch(/✗ tool \(E3201\): .*file\.write/);
    expect(out).toMatch(/– tool version: not checked/);
  });

  it("needs no keys to show a token, and reads standard input when nothing is named", async () => {
    const token = await mint();
    rmSync(line.keyFolder, { recursive: true });
    const { out, err, code } = await line.run(["token", "inspect", "--json"], token);
    const seen = JSON.parse(out);
    expect(seen).toMatchObject({ ok: true, payload: { agent_did: "agent-7" } });
    expect(seen.checks).toContainEqual(
      expect.objectContaining({ check: "signature", result: "not checked" }),
    );
    expect(err).toBe("");
    expect(code).toBe(0);
    expect(existsSync(join(line.cwd, ".sallyport", "sallyport.db"))).toBe(false);
  });

  it("goes by the configuration: its issuers, its keys, its limits", async () => {
    const token = await mint("--ttl", "1h");
    writeFileSync(join(line.cwd, "sallyport.yaml"), "tokens: { issuers: [elsewhere], maxLifeSeconds: 60 }\n");
    const { out } = await line.run(["token", "inspect"], token);
    expect(out).toMatch(/✗ times \(E3201\): .*60 seconds/);
    expect(out).toMatch(/✗ issuer \(E3201\)/);
    expect(await line.refusal(MINT)).toMatchObject({ code: "E3921" });
    writeFileSync(join(line.cwd, "sallyport.yaml"), "tokens: { jwks: nowhere.json }\n");
    expect((await line.run(["token", "inspect"], token)).err).toContain("nowhere.json");
  });

  it("finds a token of another server, and one that was tampered with", async () => {
    const [header, , signature] = (await mint()).split(".");
    const [, payload] = (await mint("--tool-version", "^9.0.0")).split(".");
    const { out, code } = await line.run(["token", "inspect"], `${header}.${payload}.${signature}`);
    expect(code).toBe(1);
    expect(out).toMatch(/✗ signature \(E3201\)/);
  });

  it("keeps control characters from the terminal", async () => {
    const part = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url");
    const token = `${part({ alg: "RS256" })}.${part({ jti: "\u001b[2J\u202e" })}.AAAA`;
    const { out } = await line.run(["token", "inspect"], token);
    expect(out).not.toContain("\u001b[2J");
    expect(out).not.toContain("\u202e");
  });

  it("refuses what is no token without quoting it", async () => {
    const refused = await line.refusal(["token", "inspect"], "my-secret-password");
    expect(refused).toMatchObject({ code: "E3201" });
    expect(JSON.stringify(refused)).not.toContain("password");
  });
});

describe("sallyport token revoke", () => {
  it("puts a revocation on record by jti or by token, and lists it [L3-PRM-1]", async () => {
    await line.run(["keys", "init"]);
    const token = await mint();
    const { jti } = claimsOf(token);
    expect((await line.run(["token", "revoked"])).out).toBe("No token is revoked.\n");
    const by = ["--by", "ann", "--reason", "found in a log"];
    expect((await line.run(["token", "revoke", "-", ...by], token)).out).toContain(`Revoked ${jti}`);
    await line.run(["token", "revoke", "another-one", "--reason", "retired"]);
    const listed = JSON.parse((await line.run(["token", "revoked", "--json"])).out);
    expect(listed).toMatchObject([
      { jti, by: "ann", reason: "found in a log" },
      { jti: "another-one", reason: "retired" },
    ]);
    for (const { forgetAt } of listed) expect(Date.parse(forgetAt)).toBeGreaterThan(Date.now() + 86_000_000);
    expect((await line.run(["token", "revoked"])).out).toMatch(
      /another-one +under 1 s ago|another-one +\d+ s ago/,
    );
    const { out, code } = await line.run(["token", "inspect"], token);
    expect(out).toMatch(/✗ revocation \(E3208\)/);
    expect(code).toBe(1);
  }, 120_000);

  it("wants a reason and a name that can be one", async () => {
    expect(await line.refusal(["token", "revoke", "x"])).toMatch(/--reason/);
    for (const name of ["two words", "x ", " x", "x\n"]) {
      expect(await line.refusal(["token", "revoke", name, "--reason", "r"])).toMatchObject({ code: "E3921" });
    }
    expect(await line.refusal(["token", "revoke", "-", "--reason", "r"], "")).toMatchObject({
      code: "E3921",
    });
    expect(readdirSync(line.cwd)).toEqual([]);
  });
});

describe("help", () => {
  it.each([["keys"], ["token"], ["token mint"], ["token inspect"], ["token revoke"]])(
    "of %s has examples",
    async (words) => {
      expect((await line.run([...words.split(" "), "--help"])).out).toContain(`$ sallyport ${words}`);
    },
  );
});
