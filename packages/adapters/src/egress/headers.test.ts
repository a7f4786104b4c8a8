import { describe, expect, it } from "vitest";
import { endToEnd, headerLines, listed, valuesOf } from "./headers.ts";

describe("headers at the proxy [L3-EXE-2]", () => {
  it("drops what belongs to one connection, by any spelling", () => {
    const raw = [
      "Connection",
      "close, X-Hop",
      "x-hop",
      "1",
      "Keep-Alive",
      "5",
      "PROXY-Authorization",
      "Basic x",
      "TE",
      "trailers",
      "Trailer",
      "x",
      "Transfer-Encoding",
      "chunked",
      "Upgrade",
      "h2c",
      "Proxy-Connection",
      "keep-alive",
      "Accept",
      "*/*",
    ];
    expect(endToEnd(raw, [])).toEqual(["Accept", "*/*"]);
  });

  it("keeps order, spelling and repetition of the rest, and drops what it is told to", () => {
    const raw = [
      "Cookie",
      "a",
      "X-Y",
      "1",
      "cookie",
      "b",
      "Authorization",
      "placeholder",
      "AUTHORIZATION",
      "again",
    ];
    expect(endToEnd(raw, ["authorization"])).toEqual(["Cookie", "a", "X-Y", "1", "cookie", "b"]);
  });

  it("heeds every Connection header", () => {
    expect(endToEnd(["connection", "a", "Connection", "B", "A", "1", "b", "2", "c", "3"], [])).toEqual([
      "c",
      "3",
    ]);
  });

  it("reads values and lists", () => {
    expect(valuesOf(["Host", "a", "x", "y", "hOST", "b"], "host")).toEqual(["a", "b"]);
    expect(listed(" A , b,,C ")).toEqual(["a", "b", "c"]);
    expect(headerLines(["a", "1", "b", "2"])).toBe("a: 1\r\nb: 2\r\n");
  });
});
