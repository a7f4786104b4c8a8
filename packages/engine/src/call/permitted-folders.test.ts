import { isFailure } from "@sallyport/protocol";
import { describe, expect, it } from "vitest";
import { absolutePermissions, permittedFolders } from "./permitted-folders.ts";

const ROOT = "/srv/project";

describe("the folders of a tool's permissions", () => {
  it("start at the house's root unless they are absolute", () => {
    const folders = permittedFolders(
      {
        filesystem: [
          { path: ".", mode: "rw" },
          { path: "docs", mode: "ro" },
          { path: "/usr/share/dict", mode: "ro" },
        ],
      },
      ROOT,
    );
    expect(folders).toEqual({ writable: ROOT, readable: [`${ROOT}/docs`, "/usr/share/dict"] });
  });

  it.each(["../other", "~/x", "a\\b", "file:///etc", ""])(
    "refuse %j, which leads nowhere [L3-EXE-1]",
    (path) => {
      const folders = permittedFolders({ filesystem: [{ path, mode: "ro" }] }, ROOT);
      expect(isFailure(folders) && folders.code).toBe("E3105");
    },
  );

  it("name one folder to write in at most, because a call is one transaction over one tree", () => {
    const two = permittedFolders(
      {
        filesystem: [
          { path: "a", mode: "rw" },
          { path: "b", mode: "rw" },
        ],
      },
      ROOT,
    );
    expect(isFailure(two) && two.code).toBe("E3105");
  });

  it("are compared with an agent's as absolute paths", () => {
    const permissions = { filesystem: [{ path: "a", mode: "rw" as const }], network: [], credentials: [] };
    expect(absolutePermissions(permissions, ROOT).filesystem).toEqual([{ path: `${ROOT}/a`, mode: "rw" }]);
    expect(absolutePermissions(permissions, undefined)).toBe(permissions);
  });
});
