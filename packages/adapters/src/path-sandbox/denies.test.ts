import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { compileDenied } from "../workspace/denied-paths.ts";
import { DEFAULT_DENIES } from "./default-denies.ts";
import { compileDenies } from "./denies.ts";

const ROOT = "/srv/work";
const deniedBy = (patterns: string[], path: string) => compileDenies(patterns, [ROOT])(path);

describe("denied patterns", () => {
  it("hold by default for the five of the rule and for the rest [FR-VAL-05] [NFR-SEC-03]", () => {
    const test = compileDenies(DEFAULT_DENIES, [ROOT]);
    const expected = {
      ".ssh/config": "**/.ssh/**",
      "a/.gnupg/ring": "**/.gnupg/**",
      "a/id_rsa.pub": "**/id_rsa*",
      "a/b/c.pem": "**/*.pem",
      "x.key": "**/*.key",
      id_ed25519: "**/id_ed25519*",
      id_ecdsa: "**/id_ecdsa*",
      "a.p12": "**/*.p12",
      "a.pfx": "**/*.pfx",
      "a.der": "**/*.der",
      ".aws/credentials": "**/.aws/**",
      ".azure/x": "**/.azure/**",
      ".config/gcloud/x": "**/.config/gcloud/**",
      ".git/HEAD": "**/.git/**",
      ".git-credentials": "**/.git-credentials",
      ".npmrc": "**/.npmrc",
      ".pypirc": "**/.pypirc",
      ".netrc": "**/.netrc",
      ".env": "**/.env",
      ".env.local": "**/.env.*",
      "prod.env": "**/*.env",
      "image/etc/shadow-": "**/etc/shadow*",
      "image/etc/sudoers.d/x": "**/etc/sudoers*",
    };
    for (const [path, pattern] of Object.entries(expected))
      expect(test(`${ROOT}/${path}`), path).toBe(pattern);
    for (const path of ["/etc/shadow", "/etc/ssh/ssh_host_rsa_key", "/proc/1/environ", "/etc/sudoers.d/x"])
      expect(test(path), path).toBeDefined();
    for (const path of [
      ".sshx/a",
      "a.pemx",
      "key",
      "monkey.ts",
      ".gitignore",
      "environment.ts",
      ".config/x",
      "proc/x",
    ])
      expect(test(`${ROOT}/${path}`), path).toBeUndefined();
  });

  it.each<[pattern: string, denied: string[], allowed: string[]]>([
    [
      "notes.txt",
      ["/srv/work/notes.txt", "/srv/work/a/notes.txt", "/srv/work/notes.txt/x"],
      ["/srv/work/notes.txt2"],
    ],
    ["out/", ["/srv/work/out", "/srv/work/a/out/x"], ["/srv/work/outer"]],
    ["secrets/**", ["/srv/work/secrets", "/srv/work/secrets/a/b"], ["/srv/work/a/secrets/b", "/secrets/b"]],
    ["./secrets/*", ["/srv/work/secrets/a", "/srv/work/secrets/a/b"], ["/srv/work/secrets"]],
    ["/srv/work/a", ["/srv/work/a", "/srv/work/a/b"], ["/srv/work/srv/work/a"]],
    ["**/a/**/b", ["/srv/work/a/b", "/srv/work/a/x/y/b/c"], ["/srv/work/b/a"]],
    ["**/a//b/**", ["/srv/work/a/b", "/srv/work/x/a/b/c"], ["/srv/work/a", "/srv/work/a/x/b"]],
  ])("%s means what it says [FR-VAL-04]", (pattern, denied, allowed) => {
    expect(denied.filter((path) => deniedBy([pattern], path) !== pattern)).toEqual([]);
    expect(allowed.filter((path) => deniedBy([pattern], path) !== undefined)).toEqual([]);
  });

  it("held against a few names mean what they mean for the whole path", () => {
    const name = fc.constantFrom("a", "b", "ab");
    const part = fc.constantFrom("a", "b", "*", "a*", "?b");
    const tail = fc.constantFrom("", "/**");
    fc.assert(
      fc.property(
        fc.array(part, { minLength: 1, maxLength: 3 }),
        tail,
        fc.array(name, { minLength: 1, maxLength: 6 }),
        (parts, end, names) => {
          const pattern = `**/${parts.join("/")}${end}`;
          const whole = compileDenied([pattern])(names.join("/"));
          expect(compileDenies([pattern], ["/r"])(`/${names.join("/")}`) === pattern).toBe(whole);
        },
      ),
    );
  });

  it("match every spelling that some system takes for the name [FR-VAL-04] [NFR-SEC-03]", () => {
    for (const name of [".SSH", ".\u017fsh", ".\u00dfh", ".s\u200csh", ".ssh\ufe0f"])
      expect(deniedBy(["**/.ssh/**"], `${ROOT}/${name}/x`), name).toBe("**/.ssh/**");
    expect(deniedBy(["caf\u00e9"], `${ROOT}/cafe\u0301`)).toBe("caf\u00e9");
    expect(deniedBy(["cafe\u0301"], `${ROOT}/CAF\u00c9`)).toBe("cafe\u0301");
  });

  it.each([
    "",
    " ",
    "/",
    "./",
    "*.{pem,key}",
    "[ab]",
    "!keep",
    "~/.ssh/**",
    "a\\b",
    "../x",
    "a".repeat(257),
    "**/a/**/b/**/c/**",
  ])("%j is refused at the start, with what to do: it would not deny what it seems to", (pattern) => {
    const failure = {
      code: "E3919",
      message: expect.stringMatching(/^The denied pattern .*\.$/),
      advice: expect.stringMatching(/^(Use|Leave|Name) /),
    };
    expect(() => compileDenies([pattern], [ROOT])).toThrow(
      expect.objectContaining({ failure: expect.objectContaining(failure) }),
    );
  });

  it("stay quick for the longest path", () => {
    const test = compileDenies([...DEFAULT_DENIES, "**/a/**/b"], [ROOT]);
    const path = `${ROOT}/${`${"a".repeat(14)}/`.repeat(256)}x`;
    const started = performance.now();
    expect(test(path)).toBeUndefined();
    expect(performance.now() - started).toBeLessThan(10_000);
  });
});
