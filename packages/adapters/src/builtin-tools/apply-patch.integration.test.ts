import { chmodSync, existsSync, mkdirSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { snapshot } from "../workspace/testing/snapshot.ts";
import { failureOf, inHouse, resultOf } from "./fixtures/built-house.ts";
import { lp1, read, replaced } from "./fixtures/lp1.ts";

describe("apply_patch", () => {
  it("changes and makes files, and names each as the patch does [FR-TOOL-PATCH-01]", () =>
    inHouse({ files: { "a.txt": "one\ntwo\n", "b.txt": "b\n" } }, async (house) => {
      chmodSync(join(house.root, "a.txt"), 0o755);
      await read(house, "a.txt", "b.txt");
      const patch = lp1(...replaced("./a.txt", "two", "2"), "F new/c.txt", "T", "c", ".", "N +", "F b.txt");
      const answer = await house.call("apply_patch", { patch });
      expect(resultOf(answer)).toBe("modified: ./a.txt\ncreated: new/c.txt");
      expect([house.text("a.txt"), house.text("new/c.txt"), house.text("b.txt")]).toEqual([
        "one\n2\n",
        "c\n",
        "b\n",
      ]);
      expect(statSync(join(house.root, "a.txt")).mode & 0o777).toBe(0o755);
    }));

  it.each([
    ["without sections", lp1()],
    ["that changes nothing", lp1(...replaced("a.txt", "one", "one"))],
    ["that adds nothing to a file that is not there", lp1("F new.txt", "T", ".")],
  ])("says so for a patch %s [FR-TOOL-PATCH-01]", (_what, patch) =>
    inHouse({ files: { "a.txt": "one\n" } }, async (house) => {
      await read(house, "a.txt");
      const before = await snapshot(house.root, { times: true });
      expect(resultOf(await house.call("apply_patch", { patch }))).toBe("No changes applied.");
      expect(await snapshot(house.root, { times: true })).toEqual(before);
    }),
  );

  it("makes a file that is not there by T, B and N alone, and not by a match [FR-TOOL-PATCH-01]", () =>
    inHouse({}, async ({ call, text }) => {
      expect(resultOf(await call("apply_patch", { patch: lp1("F n.txt", "B", "x", ".") }))).toBe(
        "created: n.txt",
      );
      expect(text("n.txt")).toBe("x");
      const match = failureOf(
        await call("apply_patch", { patch: lp1("F no.txt", "T", "x", ".", "E", "x", ".") }),
      );
      expect(match).toMatchObject({
        code: "E3951",
        message: expect.stringMatching(/^Patch failed for no\.txt: /),
        details: { file: "no.txt" },
      });
    }));

  it("refuses a file that was not read in the conversation [FR-TOOL-PATCH-02]", () =>
    inHouse({ files: { "a.txt": "one\n" } }, async (house) => {
      const { call, text } = house;
      const patch = lp1(...replaced("./a.txt", "one", "1"));
      await call("read_file", { path: "a.txt" }, "another talk");
      expect(failureOf(await call("apply_patch", { patch }))).toMatchObject({
        code: "E3952",
        message: "Stale file ./a.txt: File was not read before patching",
        details: { file: "./a.txt", reason: "File was not read before patching" },
      });
      expect(text("a.txt")).toBe("one\n");
      await read(house, "a.txt");
      expect(resultOf(await call("apply_patch", { patch }))).toBe("modified: ./a.txt");
    }));

  it("refuses a file that changed since it was read, and takes one that changed back [FR-TOOL-PATCH-02]", () =>
    inHouse({ files: { "a.txt": "one\n" } }, async (house) => {
      const patch = lp1(...replaced("a.txt", "one", "1"));
      await read(house, "a.txt");
      house.put("a.txt", "one\nmore\n");
      expect(failureOf(await house.call("apply_patch", { patch }))).toMatchObject({
        code: "E3952",
        message: "Stale file a.txt: File content changed since last read",
      });
      expect(house.text("a.txt")).toBe("one\nmore\n");
      house.put("a.txt", "one\n");
      expect((await house.call("apply_patch", { patch })).status).toBe("success");
    }));

  it("refuses a file that was read and is gone, until a read has said so [FR-TOOL-PATCH-02]", () =>
    inHouse({ files: { "a.txt": "one\n" } }, async (house) => {
      const patch = lp1("F a.txt", "T", "more", ".");
      await read(house, "a.txt");
      rmSync(join(house.root, "a.txt"));
      expect(failureOf(await house.call("apply_patch", { patch }))).toMatchObject({
        code: "E3952",
        message: "Stale file a.txt: File content changed since last read",
      });
      expect(existsSync(join(house.root, "a.txt"))).toBe(false);
      failureOf(await house.call("read_file", { path: "a.txt" }));
      expect(resultOf(await house.call("apply_patch", { patch }))).toBe("created: a.txt");
    }));

  it("looks at every path before it looks at any file [FR-TOOL-PATCH-02] [FR-TOOL-PATCH-01]", () =>
    inHouse({ files: { "a.txt": "one\n", "k.pem": "" } }, async ({ call }) => {
      const unread = replaced("a.txt", "one", "1");
      for (const [path, code] of [
        ["../x", "E3955"],
        ["k.pem", "E3956"],
      ] as const)
        expect(failureOf(await call("apply_patch", { patch: lp1(...unread, `F ${path}`) })).code).toBe(code);
    }));

  it("goes on from what it wrote, without another read [FR-TOOL-PATCH-02]", () =>
    inHouse({ files: { "a.txt": "one\n" } }, async (house) => {
      await read(house, "a.txt");
      for (const [from, to] of [
        ["one", "two"],
        ["two", "three"],
      ] as const)
        resultOf(await house.call("apply_patch", { patch: lp1(...replaced("a.txt", from, to)) }));
      expect(house.text("a.txt")).toBe("three\n");
    }));

  it("chains sections of one file, however it is spelt, links included [FR-TOOL-PATCH-01]", () =>
    inHouse({ files: { "d/a.txt": "one\n" } }, async (house) => {
      symlinkSync("d", join(house.root, "e"));
      await read(house, "d/a.txt");
      const steps = [
        ...replaced("d/a.txt", "one", "two"),
        ...replaced("./d/a.txt", "two", "three"),
        ...replaced("e/a.txt", "three", "four"),
      ];
      expect(resultOf(await house.call("apply_patch", { patch: lp1(...steps) }))).toBe("modified: d/a.txt");
      expect(house.text("d/a.txt")).toBe("four\n");
      const made = lp1("F n", "T", "1", ".", "F ./n", "T", "2", ".");
      expect(resultOf(await house.call("apply_patch", { patch: made }))).toBe("created: n");
      expect(house.text("n")).toBe("1\n2");
    }));

  it("tells where the nearest place is, and all the places [FR-TOOL-PATCH-01]", () =>
    inHouse({ files: { "a.txt": "x\nalpha\nbeta\nx\n" } }, async (house) => {
      await read(house, "a.txt");
      const near = failureOf(
        await house.call("apply_patch", { patch: lp1("F a.txt", "E", "alpha", "betta", ".") }),
      );
      expect(near.message).toMatch(/nearest at file line 2.*"betta".*"beta"/);
      const twice = failureOf(await house.call("apply_patch", { patch: lp1("F a.txt", "E", "x", ".") }));
      expect(twice.message).toMatch(/^Patch failed for a\.txt: patch line 3: .*file lines 1, 4/);
    }));

  it.each([
    ["a broken patch", "LP1\nF a.txt\nQ\nEND\n", "<patch>: patch line 3: "],
    ["a folder", lp1("F d", "T", "x", "."), "d: Path is a directory"],
  ])("refuses %s [FR-TOOL-PATCH-01]", (_what, patch, words) =>
    inHouse({ files: { "d/x": "" } }, async ({ call }) => {
      const failed = failureOf(await call("apply_patch", { patch }));
      expect(failed.code).toBe("E3951");
      expect(failed.message).toMatch(new RegExp(`^Patch failed for (${words})`));
    }),
  );

  it.each([
    ["mixed line ends", "a\r\nb\n"],
    ["a bare CR", "a\rb"],
    [
      "bytes that are no text after the beginning",
      Buffer.concat([Buffer.alloc(9_000, 0x61), Buffer.from([0xff])]),
    ],
  ])("does not patch a file with %s [FR-TOOL-PATCH-01]", (_what, content) =>
    inHouse({ files: { "a.txt": content } }, async (house) => {
      await read(house, "a.txt");
      const failed = failureOf(await house.call("apply_patch", { patch: lp1("F a.txt", "T", "x", ".") }));
      expect(failed.code).toBe("E3951");
    }),
  );

  it("keeps CRLF, whatever the patch is written with [FR-TOOL-PATCH-01]", () =>
    inHouse({ files: { "a.txt": "a\r\nb\r\n", "e.txt": "" } }, async (house) => {
      await read(house, "a.txt", "e.txt");
      const patch = lp1("F a.txt", "I", "a", ".", "x", ".", "F e.txt", "T", "first", ".");
      await house.call("apply_patch", { patch });
      expect([house.text("a.txt"), house.text("e.txt")]).toEqual(["a\r\nx\r\nb\r\n", "first"]);
    }));

  it("patches a file of a mebibyte [FR-TOOL-PATCH-01]", () => {
    const lines = Array.from({ length: 60_000 }, (_, index) => `line number ${index}`);
    return inHouse({ files: { "m.txt": `${lines.join("\n")}\n` } }, async (house) => {
      resultOf(await house.call("read_file", { path: "m.txt", start_line: 50_000, end_line: 50_001 }));
      const patch = lp1(...replaced("m.txt", "line number 50000", "changed"));
      expect(resultOf(await house.call("apply_patch", { patch }))).toBe("modified: m.txt");
      expect(house.text("m.txt")).toBe(`${lines.with(50_000, "changed").join("\n")}\n`);
    });
  });

  it("takes a patch of 512 KiB and none longer [FR-LIM-04] [CFG-PATCH-01]", () =>
    inHouse({}, async ({ call, tools }) => {
      const frame = lp1("F n.txt", "T", "", ".").length;
      const fitting = lp1("F n.txt", "T", "x".repeat(524_288 - frame), ".");
      expect(Buffer.byteLength(fitting)).toBe(524_288);
      expect(resultOf(await call("apply_patch", { patch: fitting }))).toBe("created: n.txt");
      const patch = `${fitting}\n`;
      const failed = failureOf(await call("apply_patch", { patch }));
      expect(failed).toMatchObject({ code: "E3957", message: expect.stringContaining("524289 bytes") });
      expect(await tools.apply_patch?.loop.preflight?.({ patch }, "talk")).toMatchObject({ code: "E3957" });
    }));

  it("takes hostile names and contents as what they are", () =>
    inHouse({}, async ({ call, text, root }) => {
      mkdirSync(join(root, "-rf"));
      writeFileSync(join(root, "-rf", "$(id)"), "..\n.\nEND\n");
      resultOf(await call("read_file", { path: "-rf/$(id)" }));
      const patch = lp1(
        'F "-rf/$(id)"',
        "R",
        "..",
        ".",
        "`rm`\u001b[2J",
        ".",
        'F "a b\\"c"',
        "T",
        "__proto__",
        ".",
      );
      expect(resultOf(await call("apply_patch", { patch }))).toBe('modified: -rf/$(id)\ncreated: a b"c');
      expect(text("-rf/$(id)")).toBe("..\n`rm`\u001b[2J\nEND\n");
      expect(text('a b"c')).toBe("__proto__");
    }));

  it("knows a caller without a conversation by its own name [FR-TOOL-PATCH-02]", () =>
    inHouse({ files: { "a.txt": "one\n" } }, async ({ engine }) => {
      const as = (agent: string, tool: string, input: object) =>
        engine.call({ tool, input, caller: { tenant: "acme", agent } });
      const patch = lp1(...replaced("a.txt", "one", "1"));
      await as("ann", "read_file", { path: "a.txt" });
      expect(failureOf(await as("bob", "apply_patch", { patch })).code).toBe("E3952");
      expect(resultOf(await as("ann", "apply_patch", { patch }))).toBe("modified: a.txt");
    }));
});
