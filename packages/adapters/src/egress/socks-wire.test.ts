import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { readGreeting, readRequest, socksReply } from "./socks-wire.ts";

const name = (host: string, port = 443) =>
  Buffer.concat([
    Buffer.from([5, 1, 0, 3, Buffer.byteLength(host)]),
    Buffer.from(host),
    Buffer.from([port >> 8, port & 255]),
  ]);
const ipv4 = Buffer.from([5, 1, 0, 1, 127, 0, 0, 1, 0, 80]);
const ipv6 = Buffer.from([5, 1, 0, 4, ...Array<number>(15).fill(0), 1, 0, 80]);

describe("SOCKS5 messages [L3-EXE-2]", () => {
  it.each([
    ["no authentication", [5, 1, 0], true],
    ["it among others", [5, 3, 2, 1, 0], true],
    ["only a password", [5, 1, 2], false],
    ["nothing", [5, 0], false],
  ])("reads a greeting that offers %s", (_, bytes, isOpen) => {
    expect(readGreeting(Buffer.from(bytes))).toEqual({
      kind: "message",
      message: { isOpen },
      size: bytes.length,
    });
  });

  it.each([
    ["a name", name("api.example.com"), { name: "api.example.com", port: 443 }],
    ["a name in capitals", name("API.EXAMPLE.COM."), { name: "api.example.com", port: 443 }],
    ["an address as a name", name("0x7f.1"), { name: "127.0.0.1", address: "127.0.0.1" }],
    ["IPv4", ipv4, { name: "127.0.0.1", port: 80, address: "127.0.0.1" }],
    ["IPv6", ipv6, { name: "[::1]", port: 80, address: "::1" }],
    [
      "IPv4 in IPv6",
      Buffer.from([5, 1, 0, 4, ...Array<number>(10).fill(0), 255, 255, 10, 0, 0, 1, 0, 80]),
      { name: "10.0.0.1" },
    ],
  ])("reads a request for %s", (_, bytes, to) => {
    expect(readRequest(bytes)).toMatchObject({
      kind: "message",
      message: { command: "connect", to },
      size: bytes.length,
    });
  });

  it.each(["", "a b", "a\0b", "a:80", "user@host", "a/b", "*", "%61", "\r\nx"])(
    "finds no host in the name %j",
    (host) => {
      expect(readRequest(name(host))).toMatchObject({ message: { command: "connect", to: undefined } });
    },
  );

  it("finds no host in bytes that are not text", () => {
    const bytes = Buffer.concat([Buffer.from([5, 1, 0, 3, 3, 0x61, 0xff, 0x62]), Buffer.from([0, 80])]);
    expect(readRequest(bytes)).toMatchObject({ message: { to: undefined } });
    expect(readRequest(name("bücher.example"))).toMatchObject({
      message: { to: { name: "xn--bcher-kva.example" } },
    });
  });

  it("finds no destination at port 0", () => {
    expect(readRequest(name("a.example", 0))).toMatchObject({ message: { to: undefined } });
  });

  it.each([2, 3, 0, 255])("does not know command %i", (command) => {
    const bytes = Buffer.from(ipv4);
    bytes[1] = command;
    expect(readRequest(bytes)).toMatchObject({ message: { command: "other" } });
  });

  it.each([0, 2, 5, 255])("does not know address type %i", (type) => {
    const bytes = Buffer.from(ipv4);
    bytes[3] = type;
    expect(readRequest(bytes)).toMatchObject({ message: { command: "unknown address" } });
  });

  it("waits for the rest, at every length", () => {
    for (const whole of [name("api.example.com"), ipv4, ipv6])
      for (let length = 0; length < whole.length; length += 1)
        expect(readRequest(whole.subarray(0, length))).toEqual({ kind: "partial" });
    for (const length of [0, 1, 2, 3])
      expect(readGreeting(Buffer.from([5, 2, 0, 1]).subarray(0, length)).kind).toBe("partial");
  });

  it("leaves what comes after a message", () => {
    expect(readRequest(Buffer.concat([ipv4, Buffer.from("GET / ")]))).toMatchObject({ size: ipv4.length });
  });

  it.each([
    [[4, 1, 0, 80, 1, 1, 1, 1, 0]],
    [[6, 1, 0, 1, 1, 1, 1, 1, 0, 80]],
    [[5, 1, 1, 1, 1, 1, 1, 1, 0, 80]],
  ])("calls %j broken", (bytes) => {
    expect(readRequest(Buffer.from(bytes))).toEqual({ kind: "broken" });
  });

  it("makes no more of any bytes than there are, and never throws", () => {
    fc.assert(
      fc.property(
        fc.uint8Array({ maxLength: 300 }),
        fc.constantFrom(readGreeting, readRequest),
        (noise, read) => {
          const bytes = Buffer.from([5, ...noise]);
          const got = read(bytes);
          return got.kind !== "message" || got.size <= bytes.length;
        },
      ),
    );
  });

  it("answers with ten bytes that tell nothing of this host", () => {
    expect([...socksReply(2)]).toEqual([5, 2, 0, 1, 0, 0, 0, 0, 0, 0]);
  });
});
