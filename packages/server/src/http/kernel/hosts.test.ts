import { describe, expect, it } from "vitest";
import { DEFAULT_DOOR } from "./door-settings.ts";
import { Hosts } from "./hosts.ts";
import { bindAddress, isLoopback } from "./loopback.ts";

const WIDE = new Hosts({
  ...DEFAULT_DOOR,
  host: "0.0.0.0",
  callers: "token",
  allowedHosts: ["gate.example:8443"],
});

describe("hosts of a door that others reach", () => {
  it.each(["10.1.2.3:7420", "[fe80::1]:7420", "localhost", "gate.example", "GATE.EXAMPLE:1"])(
    "%s is served",
    (host) => {
      expect(WIDE.refuse(host)).toBeUndefined();
      expect(WIDE.refuse(host)).toBeUndefined();
    },
  );

  it.each(["evil.example", "0x0a010203", "10.1.2", "gate.example.evil"])("%s is not", (host) => {
    expect(WIDE.refuse(host)).toMatchObject({ code: "E3936" });
    expect(WIDE.refuse(host)).toMatchObject({ code: "E3936" });
  });
});

describe("loopback", () => {
  it.each(["127.0.0.1", "127.8.8.8", "::1", "[::1]", "localhost", "LocalHost", "::ffff:127.0.0.1"])(
    "is %s",
    (host) => {
      expect(isLoopback(host)).toBe(true);
    },
  );

  it.each(["0.0.0.0", "::", "192.168.0.1", "127.0.0.1.evil.example", "127.evil", "", "my-laptop", "::2"])(
    "is not %s",
    (host) => {
      expect(isLoopback(host)).toBe(false);
    },
  );

  it("is bound at one address", () => {
    expect(["localhost", "[::1]", "10.0.0.1"].map(bindAddress)).toEqual(["127.0.0.1", "::1", "10.0.0.1"]);
  });
});
