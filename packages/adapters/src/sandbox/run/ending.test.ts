import { constants } from "node:os";
import type { SandboxLimits } from "@sallyport/engine/ports";
import { describe, expect, it } from "vitest";
import type { LauncherEnd } from "../launcher/index.ts";
import { type EndFacts, endingOf } from "./run-sandbox.ts";

const limits: SandboxLimits = {
  wallMs: 1000,
  memoryBytes: 2000,
  cpuMs: 3000,
  processes: 4,
  openFiles: 5,
  fileBytes: 6000,
  diskBytes: 7000,
  outputBytes: 8000,
  connections: 9,
};
const FACTS: EndFacts = { limits, outputExceeded: false, readings: undefined, lastError: "" };
const READINGS = { memoryPeakBytes: 0, outOfMemory: 0, processesRefused: 0, cpuMs: 0 };
const END: LauncherEnd = {
  how: "exited",
  code: 0,
  signal: 0,
  errno: 0,
  userMs: 1,
  systemMs: 1,
  maxRssBytes: 1,
  wallMs: 1,
  violations: 0,
  left: 0,
  refused: [],
};
const ended = (end: Partial<LauncherEnd>, facts: Partial<EndFacts> = {}) =>
  endingOf({ ...END, ...end }, { ...FACTS, ...facts });
const limit = (name: string) => expect.objectContaining({ kind: "limit", limit: name });

describe("an ending", () => {
  it("tells exit 137 from SIGKILL", () => {
    expect(ended({ code: 137 })).toEqual({ kind: "exited", code: 137 });
    expect(ended({ how: "signalled", signal: constants.signals.SIGKILL })).toEqual({
      kind: "signalled",
      signal: "SIGKILL",
    });
  });

  it("names the limit that ended it, with its number", () => {
    expect(ended({ how: "limit", limit: { limit: "disk", value: 1 } })).toEqual({
      kind: "limit",
      limit: "disk",
      message: "It needed more than 7000 bytes on disk.",
    });
    expect(ended({ how: "killed" }, { outputExceeded: true })).toEqual(limit("output"));
    expect(ended({ how: "signalled", signal: constants.signals.SIGXFSZ })).toEqual(limit("fileSize"));
    expect(ended({ how: "signalled", signal: constants.signals.SIGXCPU })).toEqual(limit("cpu"));
  });

  it("is the same for a file that is too large, whether a shell is between or not", () => {
    expect(ended({ code: 128 + constants.signals.SIGXFSZ })).toEqual(limit("fileSize"));
    expect(ended({ code: 128 + constants.signals.SIGTERM })).toEqual({ kind: "exited", code: 143 });
  });

  it("knows the kernel's last word on processor time", () => {
    const { SIGKILL } = constants.signals;
    expect(ended({ how: "signalled", signal: SIGKILL, userMs: 2500, systemMs: 600 })).toEqual(limit("cpu"));
  });

  it("believes the cgroup", () => {
    expect(ended({ code: 1 }, { readings: { ...READINGS, outOfMemory: 1 } })).toEqual(limit("memory"));
    const refused = { readings: { ...READINGS, processesRefused: 3 } };
    expect(ended({ code: 2 }, refused)).toEqual(limit("processes"));
    expect(ended({ code: 0 }, refused)).toEqual({ kind: "exited", code: 0 });
    expect(ended({ how: "timeout" }, refused)).toEqual({ kind: "timeout" });
  });

  it("says what stood in the way of a sandbox", () => {
    const end = { how: "backend-failed", code: 1, errno: 1, message: "mount the overlay" } as const;
    expect(ended(end)).toEqual({
      kind: "crashed",
      message: "The sandbox could not mount the overlay: EPERM.",
      notMade: true,
    });
    expect(ended({ how: "backend-failed", code: 1 }, { lastError: "bwrap: no" })).toEqual({
      kind: "crashed",
      message: "The sandbox ended with 1 (bwrap: no).",
    });
  });

  it("gives a program that is not there the shell's code", () => {
    expect(ended({ how: "exec-failed", code: 127, errno: 2 })).toEqual({ kind: "exited", code: 127 });
  });
});
