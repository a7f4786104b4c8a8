import { describe, expect, it } from "vitest";
import { refuseWideBinding } from "./wide-binding.ts";

describe("a door that asks nobody who they are", () => {
  it.each(["0.0.0.0", "::", "192.168.1.4", "gate.example"])("does not stand open at %s", (host) => {
    expect(refuseWideBinding({ host, callers: "open" })).toMatchObject({
      code: "E3919",
      advice: expect.stringContaining("http.callers"),
    });
    expect(refuseWideBinding({ host, callers: "token" })).toBeUndefined();
  });

  it.each(["127.0.0.1", "localhost", "::1"])("may at %s", (host) => {
    expect(refuseWideBinding({ host, callers: "open" })).toBeUndefined();
  });
});
