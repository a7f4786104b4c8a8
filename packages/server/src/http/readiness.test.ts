import { createMemoryStore } from "@sallyport/engine";
import type { SandboxOffer } from "@sallyport/engine/ports";
import { describe, expect, it, vi } from "vitest";
import { diskCheck, sandboxCheck, storeCheck } from "./readiness.ts";

const MIB = 1024 * 1024;

const OFFER: SandboxOffer = {
  ...{ backend: "b", level: "LEVEL_2", available: false, missing: [], fix: [], facts: {} },
  transient: true,
};

describe("the sandboxes' check", () => {
  it("is ready while no tool needs a sandbox, and says else what doctor says", async () => {
    const offer = { ...OFFER, missing: ["/state is full."] };
    let isNeeded = false;
    const look = vi.fn(async () => [offer]);
    const { check } = sandboxCheck(look, () => isNeeded);
    await vi.waitFor(async () => {
      expect(await check()).toBeUndefined();
      expect(look.mock.calls.length).toBeGreaterThan(2);
    });
    isNeeded = true;
    await vi.waitFor(async () => expect(await check()).toBe("/state is full."));
  });

  it("says not ready while their folder cannot be used, and ready again after", async () => {
    const offer = { ...OFFER, missing: ["the folder cannot be used"] };
    const { check } = sandboxCheck(
      async () => [offer],
      () => true,
    );
    await check();
    await vi.waitFor(async () => expect(await check()).toMatch(/cannot be used/));
    delete offer.transient;
    await vi.waitFor(async () => expect(await check()).toBeUndefined());
  });
});

describe("the store's readiness", () => {
  it("is missing while nothing can be written, and looked at once a second at most", async () => {
    let now = 0;
    let probes = 0;
    let isBroken = true;
    const probe = async () => {
      probes += 1;
      if (isBroken) throw new Error("disk I/O error");
    };
    const { check } = storeCheck({ ...createMemoryStore(), probe }, () => now);
    await expect(Promise.resolve(check())).rejects.toThrow("disk I/O error");
    isBroken = false;
    await expect(Promise.resolve(check())).rejects.toThrow("disk I/O error");
    now += 1_000;
    expect(await check()).toBeUndefined();
    expect(probes).toBe(2);
  });
});

describe("the disk's readiness", () => {
  const checked = (bavail: number) =>
    diskCheck("/state", async (folder) => {
      expect(folder).toBe("/state");
      return { bavail, bsize: 4_096 };
    }).check();

  it("is missing when the state folder has no room left", async () => {
    expect(await checked(0)).toBe("less than 16 MiB are free where state is kept");
    expect(await checked((16 * MIB) / 4_096 - 1)).toContain("16 MiB");
  });

  it("is there as soon as there is room enough", async () => {
    expect(await checked((16 * MIB) / 4_096)).toBeUndefined();
  });

  it("is asked of the folder's own disk", async () => {
    const check = diskCheck(import.meta.dirname);
    expect(check.name).toBe("disk");
    await expect(Promise.resolve(diskCheck("/no/such/folder").check())).rejects.toThrow("ENOENT");
  });
});
