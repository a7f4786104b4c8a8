import { execFile, spawnSync } from "node:child_process";
import { generateKeyPairSync } from "node:crypto";
import { chmod, mkdtemp, rm, writeFile } from "node:fs/promises";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { EgressRule } from "@sallyport/engine/ports";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { makeCertificate } from "./certificate.ts";
import { readTarget } from "./destination.ts";
import { openRig, type Rig } from "./fixtures/rig.ts";
import { TlsUpstream } from "./fixtures/tls-upstream.ts";
import { HttpUpstream } from "./fixtures/upstream.ts";
import { readRules } from "./rules.ts";
import { SandboxAuthority } from "./sandbox-authority.ts";

const isRequired = process.env.CI !== undefined || process.env.SALLYPORT_REQUIRE_SERVICES !== undefined;

/** Whether a program is missing on a machine where that may be so; the reason is printed. */
function isMissing(program: string, args: string[]): boolean {
  if (spawnSync(program, args).status === 0) return false;
  if (isRequired) throw new Error(`${program} is needed here`);
  console.warn(`skipped: ${program} is not installed`);
  return true;
}

const credential = {
  secret: "api-key",
  as: { header: "Authorization", value: "Bearer {secret}" },
  intercept: true,
};
const RULES: EgressRule[] = [
  { host: "plain.test" },
  { host: "*.api.test", credential },
  { host: "blind.test" },
];

let folder = "";
let plain: HttpUpstream;
let tls: TlsUpstream;
let rig: Rig;
let proxy = "";
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "egress-programs-"));
  plain = await new HttpUpstream().start();
  tls = await new TlsUpstream([{ dns: "v1.api.test" }, { dns: "blind.test" }]).start();
  rig = await openRig({
    rules: RULES,
    secrets: { get: async () => "real" },
    upstreamCa: tls.ca,
    dial: ({ port, halfOpen }) =>
      connect({ host: "127.0.0.1", port: port === 443 ? tls.port : plain.port, allowHalfOpen: halfOpen }),
  });
  proxy = `127.0.0.1:${await rig.port()}`;
  await writeFile(join(folder, "sandbox.pem"), rig.egress.caCertificate ?? "");
  await writeFile(join(folder, "upstream.pem"), tls.ca);
});
afterAll(async () => {
  await rig[Symbol.asyncDispose]();
  await plain[Symbol.asyncDispose]();
  await tls[Symbol.asyncDispose]();
  await rm(folder, { recursive: true });
});

interface Ran {
  out: string;
  code: number;
}

function run(program: string, args: string[], options: { uid?: number; gid?: number } = {}): Promise<Ran> {
  return new Promise((done) => {
    execFile(
      program,
      args,
      { timeout: 60_000, maxBuffer: 2 ** 26, env: { PATH: process.env.PATH }, ...options },
      (error, stdout, stderr) => {
        done({ out: stdout + stderr, code: typeof error?.code === "number" ? error.code : error ? -1 : 0 });
      },
    );
  });
}

const curl = (...args: string[]) => run("curl", ["-sS", "-i", "-m", "50", ...args]);
const pem = (name: string) => join(folder, `${name}.pem`);

describe.skipIf(isMissing("curl", ["--version"]))("curl through the proxy [L3-EXE-2]", () => {
  it.each([
    ["forwarding", ["-x", "http://PROXY"]],
    ["CONNECT", ["-p", "-x", "http://PROXY"]],
    ["SOCKS5", ["-x", "socks5h://PROXY"]],
  ])("reaches an allowed host by %s, and no other", async (_, how) => {
    const args = how.map((arg) => arg.replace("PROXY", proxy));
    expect(await curl(...args, "-d", "hello", "http://plain.test/a")).toMatchObject({
      code: 0,
      out: expect.stringMatching(/POST \/a hello$/),
    });
    const { out } = await curl(...args, "http://evil.test/a");
    expect(out).toMatch(/403|\(2\)/);
    expect(out).not.toContain("GET /a");
  });

  it("uploads and downloads a few megabytes with 100-continue and chunks", async () => {
    const file = join(folder, "body");
    await writeFile(file, "0123456789".repeat(300_000));
    const { out } = await curl(
      "-x",
      `http://${proxy}`,
      "-H",
      "Expect: 100-continue",
      "-H",
      "Transfer-Encoding: chunked",
      "--data-binary",
      `@${file}`,
      "http://plain.test/big",
    );
    expect(out.length).toBeGreaterThan(3_000_000);
    await rm(file);
  });

  it("gets the real credential added over https, trusting only the sandbox's authority", async () => {
    const before = tls.requests.length;
    const args = [
      "-x",
      `http://${proxy}`,
      "-H",
      "Authorization: Bearer placeholder",
      "https://v1.api.test/x",
    ];
    expect(await curl("--cacert", pem("sandbox"), ...args)).toMatchObject({
      code: 0,
      out: expect.stringMatching(/GET \/x $/),
    });
    expect(tls.requests[before]?.headers.authorization).toBe("Bearer real");
    expect((await curl("--cacert", pem("upstream"), ...args)).code).toBe(60);
    expect(tls.requests.length).toBe(before + 1);
  });

  it("talks to a host without interception end to end", async () => {
    const args = ["-x", `http://${proxy}`, "https://blind.test/y"];
    expect((await curl("--cacert", pem("upstream"), ...args)).out).toMatch(/GET \/y $/);
    expect((await curl("--cacert", pem("sandbox"), ...args)).code).toBe(60);
  });

  it("may connect to the socket as another user, when the folder lets it", async () => {
    await chmod(dirname(rig.socketPath), 0o711);
    const nobody = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {};
    const { out } = await run(
      "curl",
      ["-sS", "-m", "50", "--unix-socket", rig.socketPath, "http://plain.test/"],
      nobody,
    );
    expect(out).toMatch(/^E3901: This is a proxy/);
  });
});

describe.skipIf(isMissing("openssl", ["version"]))(
  "the sandbox's authority in the eyes of OpenSSL [L3-EXE-2]",
  () => {
    async function verify(host: string, name: { dns: string } | { ip: string }): Promise<Ran> {
      const authority = await SandboxAuthority.forRules(readRules([{ host, credential }]), { now: Date.now });
      const to = readTarget(`${"dns" in name ? name.dns : name.ip}:443`);
      if (!authority || !to) throw new Error("nothing to verify");
      await writeFile(pem("ca"), authority.certificate);
      await writeFile(pem("leaf"), authority.issue(to).cert);
      return await run("openssl", [
        "verify",
        "-x509_strict",
        "-purpose",
        "sslserver",
        "-CAfile",
        pem("ca"),
        pem("leaf"),
      ]);
    }

    it.each([
      ["api.test", { dns: "api.test" }],
      ["*.api.test", { dns: "v1.api.test" }],
      ["10.0.0.1", { ip: "10.0.0.1" }],
      ["[fd00::1]", { ip: "[fd00::1]" }],
    ])("vouches for %s", async (host, name) => {
      expect(await verify(host, name)).toMatchObject({ code: 0 });
    });

    it.each([
      ["api.test", { dns: "evil.test" }],
      ["*.api.test", { dns: "api.test.evil.test" }],
      ["api.test", { ip: "10.0.0.1" }],
      ["api.test", { ip: "[fd00::1]" }],
      ["10.0.0.1", { ip: "10.0.0.2" }],
      ["10.0.0.1", { dns: "api.test" }],
    ])("of %s cannot vouch for %j, even if its key were stolen", async (host, name) => {
      const { code, out } = await verify(host, name);
      expect([code === 0, out]).toEqual([
        false,
        expect.stringMatching(/permitted subtree violation|excluded subtree violation/),
      ]);
    });

    it("cannot make a further authority", async () => {
      const keys = generateKeyPairSync("ec", { namedCurve: "P-256" });
      const issuer = { commonName: "root", ...keys };
      const span = { notBefore: new Date(Date.now() - 1_000), notAfter: new Date(Date.now() + 60_000) };
      const below = { commonName: "below", ...generateKeyPairSync("ec", { namedCurve: "P-256" }) };
      const mayCertify = [{ dns: "api.test" }];
      await writeFile(pem("ca"), makeCertificate({ ...issuer, ...span, mayCertify }, issuer));
      await writeFile(pem("below"), makeCertificate({ ...below, ...span, mayCertify }, issuer));
      await writeFile(
        pem("leaf"),
        makeCertificate({ commonName: "leaf", publicKey: keys.publicKey, ...span, names: mayCertify }, below),
      );
      const { code } = await run("openssl", [
        "verify",
        "-CAfile",
        pem("ca"),
        "-untrusted",
        pem("below"),
        pem("leaf"),
      ]);
      expect(code).not.toBe(0);
    });
  },
);

describe.skipIf(isMissing("python3", ["--version"]))("Python through the proxy [L3-EXE-2]", () => {
  it("trusts the sandbox's authority for its hosts", async () => {
    const script = `import ssl,sys,urllib.request as u
h=u.build_opener(u.ProxyHandler({"https":"http://"+sys.argv[1]}),u.HTTPSHandler(context=ssl.create_default_context(cafile=sys.argv[2])))
print(h.open("https://v1.api.test/py").read().decode())`;
    expect((await run("python3", ["-c", script, proxy, pem("sandbox")])).out).toMatch(/^GET \/py /);
  });
});

describe("Node's own fetch through the proxy [L3-EXE-2]", () => {
  it("by the usual variables", async () => {
    const script = `const r=await fetch("https://v1.api.test/node");console.log(r.status,await r.text())`;
    const env = {
      PATH: process.env.PATH,
      NODE_USE_ENV_PROXY: "1",
      HTTPS_PROXY: `http://${proxy}`,
      NODE_EXTRA_CA_CERTS: pem("sandbox"),
    };
    const out = await new Promise<string>((done) => {
      execFile(
        process.execPath,
        ["--input-type=module", "-e", script],
        { env, timeout: 60_000 },
        (_, stdout, stderr) => done(stdout + stderr),
      );
    });
    expect(out).toMatch(/^200 GET \/node/);
  });
});
