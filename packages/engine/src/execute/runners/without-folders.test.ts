import { describe, expect, it } from "vitest";
import { withoutFolders } from "./tool-result.ts";

describe("messages about a tool's module", () => {
  it.each([
    [
      "Cannot find module '/srv/my tools/add.ts' imported from /srv/house/x.ts",
      "Cannot find module 'add.ts' imported from x.ts",
    ],
    [
      "file:///srv/tools/add.ts does not export add@1.0.0, but sum@1.0.0",
      "add.ts does not export add@1.0.0, but sum@1.0.0",
    ],
    [
      "Cannot find package 'left-pad' imported from /srv/add.ts",
      "Cannot find package 'left-pad' imported from add.ts",
    ],
    [
      "ENOENT: no such file or directory, open 'C:\\tools\\add.js'",
      "ENOENT: no such file or directory, open 'add.js'",
    ],
    ["is a folder: '/srv/tools/'", "is a folder: 'a folder'"],
    [
      "use add/subtract, https://example.com/a/b or @scope/name",
      "use add/subtract, https://example.com/a/b or @scope/name",
    ],
    [
      "The requested module './other.ts' has no export 'x'",
      "The requested module './other.ts' has no export 'x'",
    ],
  ])("names files without their folders: %s", (said, told) => {
    expect(withoutFolders(said)).toBe(told);
  });
});
