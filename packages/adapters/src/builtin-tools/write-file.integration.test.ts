import { existsSync, statSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { snapshot } from "../workspace/testing/snapshot.ts";
import { failureOf, inHouse, resultOf } from "./fixtures/built-house.ts";

describe("write_file", () => {
  it("makes a file and the folders to it, and says how many bytes it has [FR-TOOL-WRITE-01]", () =>
    inHouse({}, async ({ call, text, root }) => {
      const answer = await call("write_file", { path: "a/b/ü.txt", content: "grüße\r\n" });
      expect(resultOf(answer)).toBe("Created a/b/ü.txt (9 bytes)");
      expect(text("a/b/ü.txt")).toBe("grüße\r\n");
      expect(statSync(join(root, "a/b/ü.txt")).mode & 0o777).toBe(0o644);
      expect(answer.effects?.files.map(({ path, change }) => `${change} ${path}`)).toEqual([
        "added a",
        "added a/b",
        "added a/b/ü.txt",
      ]);
      expect(resultOf(await call("write_file", { path: "empty", content: "" }))).toBe(
        "Created empty (0 bytes)",
      );
    }));

  it("never overwrites what is there, and points to apply_patch [FR-TOOL-WRITE-01]", () =>
    inHouse({ files: { "a.txt": "old", "d/x": "" } }, async ({ call, root }) => {
      symlinkSync("nowhere", join(root, "dangling"));
      const before = await snapshot(root, { times: true });
      expect(failureOf(await call("write_file", { path: "a.txt", content: "new" }))).toMatchObject({
        code: "E3907",
        message: "write_file failed: a.txt already exists; use apply_patch to change it",
      });
      expect(failureOf(await call("write_file", { path: "d", content: "" })).message).toContain(
        "d is a directory",
      );
      expect((await call("write_file", { path: "dangling", content: "" })).status).not.toBe("success");
      expect((await call("write_file", { path: "a.txt/b", content: "" })).status).not.toBe("success");
      expect(await snapshot(root, { times: true })).toEqual(before);
    }));

  it("may be patched without being read [FR-TOOL-WRITE-01] [FR-TOOL-PATCH-02]", () =>
    inHouse({}, async ({ call, text }) => {
      await call("write_file", { path: "a.txt", content: "one\n" });
      const patch = "LP1\nF a.txt\nT\ntwo\n.\nEND\n";
      expect(resultOf(await call("apply_patch", { patch }))).toBe("modified: a.txt");
      expect(text("a.txt")).toBe("one\ntwo\n");
    }));

  it("stays inside, and out of what is denied [FR-TOOL-WRITE-01]", () =>
    inHouse({}, async ({ call, root }) => {
      for (const [path, code] of [
        ["../x", "E3955"],
        ["/tmp/x", "E3955"],
        ["a/id_rsa", "E3956"],
        ["guarded/x", "E3956"],
        ["", "E3901"],
        [" ", "E3901"],
      ])
        expect([path, failureOf(await call("write_file", { path, content: "" })).code]).toEqual([path, code]);
      expect(await snapshot(root)).toEqual({});
    }));

  it("leaves nothing when it cannot be committed [FR-TOOL-WRITE-01]", () => {
    const onStep = (next: string) => {
      if (next.startsWith("place") || next.startsWith("replace"))
        throw Object.assign(new Error("EIO"), { code: "EIO" });
    };
    return inHouse({ onStep }, async ({ call, root }) => {
      expect((await call("write_file", { path: "d/a.txt", content: "x" })).status).not.toBe("success");
      expect(existsSync(join(root, "d"))).toBe(false);
    });
  });

  it("shows beforehand what it will do, to the digest [FR-APR-01]", () =>
    inHouse({ files: { "d/x": "" } }, async ({ call, tools, root }) => {
      const input = { path: "d/e/new.txt", content: "one\ntwo\n" };
      const before = await snapshot(root, { times: true });
      const preview = await tools.write_file?.loop.preview?.(input, "talk");
      expect(await snapshot(root, { times: true })).toEqual(before);
      const { effects } = await call("write_file", input);
      expect(effects?.files.at(-1)).toMatchObject({ path: "d/e/new.txt", change: "added" });
      expect(effects?.files.at(-1)?.diff).toContain("+one\n+two\n");
      expect(preview).toEqual(effects);
    }));
});
