import { describe, expect, it } from "vitest";
import { isSame, readAuthority, readDestination, readTarget, writeAuthority } from "./destination.ts";

describe("the one spelling of a host [L3-EXE-2]", () => {
  it.each([
    ["example.com", "example.com"],
    ["EXAMPLE.com", "example.com"],
    ["example.com.", "example.com"],
    ["bücher.example", "xn--bcher-kva.example"],
    ["BÜCHER.example", "xn--bcher-kva.example"],
    ["xn--bcher-kva.example", "xn--bcher-kva.example"],
    ["ｅｘａｍｐｌｅ.com", "example.com"],
    ["example。com", "example.com"],
    ["exam\u00adple.com", "example.com"],
    ["a_b.example", "a_b.example"],
    ["localhost", "localhost"],
    ["127.0.0.1", "127.0.0.1"],
    ["127.1", "127.0.0.1"],
    ["0x7f.1", "127.0.0.1"],
    ["0x7f000001", "127.0.0.1"],
    ["2130706433", "127.0.0.1"],
    ["0177.0.0.1", "127.0.0.1"],
    ["017700000001", "127.0.0.1"],
    ["127.0.0.1.", "127.0.0.1"],
    ["①②⑦.0.0.1", "127.0.0.1"],
    ["0", "0.0.0.0"],
    ["[::1]", "[::1]"],
    ["::1", "[::1]"],
    ["[0:0:0:0:0:0:0:1]", "[::1]"],
    ["[::ffff:127.0.0.1]", "127.0.0.1"],
    ["[::FFFF:7F00:1]", "127.0.0.1"],
    ["[FD00:EC2::254]", "[fd00:ec2::254]"],
  ])("%s is %s", (text, name) => {
    expect(readDestination(text, 443)).toMatchObject({ name, port: 443 });
  });

  it.each([
    "",
    ".",
    "..",
    "a..b",
    ".a",
    "*",
    "*.example.com",
    "a b",
    "a\tb",
    "a\0b",
    "a\nb",
    "user@example.com",
    "example.com/x",
    "example.com?x",
    "example.com#x",
    "example.com\\x",
    "example.com:80",
    "%65xample.com",
    "a%00.com",
    "[::1",
    "::1]",
    "[::1%eth0]",
    "[fe80::1%25eth0]",
    "http://example.com",
    "//example.com",
    "256.1.1.1",
    "1.2.3.4.5",
    "0x100000000",
    "foo.123",
    "foo.0x7f",
    "[1.2.3.4]",
    "[:]",
    "[]",
    "a<b",
    "a>b",
    "a|b",
    "a^b",
    "exa[mple.com",
    `${"a".repeat(64)}.com`,
    `${"a.".repeat(127)}com`,
    "\u0000",
    "example.com\u0000.evil.com",
    "\u202eexample.com",
    "a:b",
    "host:",
    ":80",
  ])("%j is no host", (text) => {
    expect(readDestination(text, 80)).toBeUndefined();
  });

  it.each([0, -1, 65_536, 1.5, Number.NaN])("%s is no port", (port) => {
    expect(readDestination("example.com", port)).toBeUndefined();
  });

  it.each([
    "example.com",
    "example.com:",
    "example.com:0",
    "example.com:65536",
    "example.com:99999",
    "example.com:443a",
    ":443",
    "example.com:+443",
    "example.com: 443",
    "example.com:4 43",
    "example.com:0x50",
    "example.com:443:443",
    "::1:443",
    "u@example.com:443",
    "http://example.com:443",
    "example.com:443/",
    "example.com:443?x",
    "example.com:-1",
    "[::1]443",
    "[::1]",
    "*:443",
    "example.com:４４３",
  ])("%j is no target", (text) => {
    expect(readTarget(text)).toBeUndefined();
  });

  it("tells a target's address and port", () => {
    expect(readTarget("[::1]:8443")).toEqual({ name: "[::1]", port: 8443, address: "::1" });
    expect(readTarget("0x7f.1:80")).toEqual({ name: "127.0.0.1", port: 80, address: "127.0.0.1" });
    expect(readTarget("a.example:443")).toEqual({ name: "a.example", port: 443, address: undefined });
  });

  it("takes the default port where none is said, and writes none where it is the default", () => {
    const read = readAuthority("example.com", 80);
    expect(read).toMatchObject({ port: 80 });
    expect(readAuthority("example.com:8080", 80)).toMatchObject({ port: 8080 });
    expect(read && writeAuthority(read, 80)).toBe("example.com");
    expect(read && writeAuthority(read, 443)).toBe("example.com:80");
  });

  it("knows the same place in other words", () => {
    const [one, other] = [readTarget("LOCALHOST.:80"), readAuthority("localhost", 80)];
    expect(one && other && isSame(one, other)).toBe(true);
  });
});
