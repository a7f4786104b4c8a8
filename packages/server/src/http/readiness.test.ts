import { describe, expect, it } from "vitest";
import { diskCheck } from "./readiness.ts";

const MIB = 1024 * 1024;

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
