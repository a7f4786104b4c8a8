import { execFileSync } from "node:child_process";
import { mkdirSync, symlinkSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { type BuiltHouse, failureOf, inHouse, resultOf } from "./fixtures/built-house.ts";
import type { ListedEntry } from "./walk-folder.ts";

interface Listing {
  path: string;
  entries: ListedEntry[];
  returned: number;
  max_entries: number;
  truncated: boolean;
  truncated_reason: string | null;
}

const FILES = { "b.txt": "four", "a/x.txt": "", "a/deep/y.txt": "", ".hid/z": "", ".dot": "" };

async function list({ call }: BuiltHouse, input: object = {}): Promise<Listing> {
  return JSON.parse(resultOf(await call("list_directory", { path: ".", ...input })));
}

const pathsOf = ({ entries }: Listing) => entries.map(({ path }) => path);

describe("list_directory", () => {
  it("lists one level, sorted, without hidden names, as one JSON object with its keys in order [T-LD-01] [FR-TOOL-LIST-01]", () =>
    inHouse({ files: FILES }, async ({ call, root, room }) => {
      for (const path of ["b.txt", "a"]) utimesSync(join(root, path), 5, 7.5);
      const none = { error_code: null, error: null };
      const text = resultOf(await call("list_directory", { path: " .//./ " }));
      expect(text).toBe(
        JSON.stringify({
          path: ".",
          entries: [
            {
              ...{ name: "a", path: "a", depth: 1, type: "dir", size_bytes: null, modified_epoch_ms: 7_500 },
              ...{ is_hidden: false, ...none },
            },
            {
              ...{
                name: "b.txt",
                path: "b.txt",
                depth: 1,
                type: "file",
                size_bytes: 4,
                modified_epoch_ms: 7_500,
              },
              ...{ is_hidden: false, ...none },
            },
          ],
          returned: 2,
          max_entries: 200,
          truncated: false,
          truncated_reason: null,
        }),
      );
      expect(room.allowTruncation).toBe(false);
    }));

  it("refuses a file and what is not there [T-LD-02] [FR-TOOL-LIST-01]", () =>
    inHouse({ files: FILES }, async ({ call }) => {
      expect(failureOf(await call("list_directory", { path: "b.txt" }))).toMatchObject({
        code: "E3907",
        message: "list_directory failed: b.txt: is not a directory",
      });
      expect(failureOf(await call("list_directory", { path: "no" })).code).toBe("E3907");
    }));

  it("stays inside, and does not show what is denied [T-LD-03] [FR-TOOL-LIST-01]", () =>
    inHouse({ files: { ...FILES, "k.pem": "", "guarded/g": "", ".ssh/id": "" } }, async (house) => {
      symlinkSync("/etc", join(house.root, "etc"));
      for (const [path, code] of [
        ["..", "E3955"],
        ["/", "E3955"],
        ["etc", "E3955"],
        [".ssh", "E3956"],
        ["guarded", "E3956"],
      ])
        expect(failureOf(await house.call("list_directory", { path }))).toMatchObject({
          code,
          details: { attempted: path, ...(path === ".ssh" && { pattern: expect.any(String) }) },
        });
      expect(pathsOf(await list(house, { include_hidden: true }))).toEqual([
        ".dot",
        ".hid",
        "a",
        "b.txt",
        "etc",
      ]);
    }));

  it("goes as deep as asked, and no deeper than the house allows [T-LD-04] [FR-TOOL-LIST-01]", () =>
    inHouse({ files: { "1/2/3/4/5/f": "", "1.txt": "" } }, async (house) => {
      expect(pathsOf(await list(house, { recursive: true, max_depth: 2 }))).toEqual(["1", "1.txt", "1/2"]);
      const deepest = await list(house, { recursive: true });
      expect(deepest.entries.map(({ path, depth }) => `${depth} ${path}`)).toEqual([
        "1 1",
        "1 1.txt",
        "2 1/2",
        "3 1/2/3",
        "4 1/2/3/4",
      ]);
      expect(pathsOf(await list(house, { path: "1/2/", recursive: true }))).toEqual([
        "3",
        "3/4",
        "3/4/5",
        "3/4/5/f",
      ]);
      for (const input of [{ max_depth: 2 }, { recursive: true, max_depth: 5 }, { max_entries: 201 }])
        expect(failureOf(await house.call("list_directory", { path: ".", ...input })).code).toBe("E3901");
      expect(pathsOf(await list(house, { max_depth: 1 }))).toEqual(["1", "1.txt"]);
    }));

  it("stops at max_entries, and says so only when there was more [T-LD-05] [FR-TOOL-LIST-01]", () =>
    inHouse({ files: FILES }, async (house) => {
      expect(await list(house, { max_entries: 1 })).toMatchObject({
        returned: 1,
        max_entries: 1,
        truncated: true,
        truncated_reason: "max_entries",
      });
      expect(await list(house, { max_entries: 2 })).toMatchObject({ returned: 2, truncated: false });
      const files = { recursive: true, include_dirs: false, max_entries: 2 };
      expect(pathsOf(await list(house, files))).toEqual(["a/deep/y.txt", "a/x.txt"]);
      expect(await list(house, files)).toMatchObject({ truncated: true });
      expect(await list(house, { ...files, max_entries: 3 })).toMatchObject({
        returned: 3,
        truncated: false,
      });
    }));

  it("leaves entries out from the end until it fits [T-LD-06] [T-LD-13] [FR-TOOL-LIST-01]", () =>
    inHouse({ files: Object.fromEntries([..."abcdefgh"].map((name) => [name, ""])) }, async (house) => {
      house.room.allowTruncation = true;
      Object.assign(house.room, { maxOutputBytes: 600 });
      const cut = await list(house);
      expect(cut).toMatchObject({ truncated: true, truncated_reason: "max_output_bytes" });
      expect(pathsOf(cut)).toEqual([..."abcdefgh"].slice(0, cut.returned));
      Object.assign(house.room, { maxOutputBytes: 50 });
      expect(failureOf(await house.call("list_directory", { path: "." })).code).toBe("E3907");
    }));

  it("shows hidden names when asked, and does not go into hidden folders otherwise [T-LD-07] [T-LD-11]", () =>
    inHouse({ files: FILES }, async (house) => {
      expect(pathsOf(await list(house, { recursive: true }))).toEqual([
        "a",
        "a/deep",
        "a/deep/y.txt",
        "a/x.txt",
        "b.txt",
      ]);
      const all = await list(house, { recursive: true, include_hidden: true, include_dirs: false });
      expect(all.entries.map(({ path, is_hidden }) => [path, is_hidden])).toEqual([
        [".dot", true],
        [".hid/z", false],
        ["a/deep/y.txt", false],
        ["a/x.txt", false],
        ["b.txt", false],
      ]);
    }));

  it("lists links and does not walk them, circles neither [T-LD-08] [FR-TOOL-LIST-01]", () =>
    inHouse({ files: FILES }, async (house) => {
      symlinkSync("a", join(house.root, "link"));
      symlinkSync("..", join(house.root, "a", "up"));
      symlinkSync("nowhere", join(house.root, "lost"));
      const listing = await list(house, { recursive: true, include_files: false, include_dirs: false });
      expect(listing.entries.map(({ path, type }) => `${type} ${path}`)).toEqual([
        "symlink a/up",
        "symlink link",
        "symlink lost",
      ]);
      const none = await list(house, { include_symlinks: false });
      expect(pathsOf(none)).toEqual(["a", "b.txt"]);
    }));

  it("writes a name that is not UTF-8 with replacement characters [T-LD-09] [FR-TOOL-LIST-01]", () =>
    inHouse({ files: { "d/a": "", z: "" } }, async (house) => {
      const odd = Buffer.concat([Buffer.from(join(house.root, "d")), Buffer.from([0x2f, 0x62, 0xff])]);
      writeFileSync(odd, "four");
      mkdirSync(Buffer.concat([Buffer.from(join(house.root, "d")), Buffer.from([0x2f, 0x63, 0xff])]));
      const { entries } = await list(house, { path: "d", recursive: true });
      expect(entries.map(({ path, type, size_bytes }) => [path, type, size_bytes])).toEqual([
        ["a", "file", 0],
        ["b\ufffd", "file", 4],
        ["c\ufffd", "dir", null],
      ]);
    }));

  it("lists pipes only when asked, and nothing when nothing is asked for [FR-TOOL-LIST-01]", () =>
    inHouse({ files: FILES }, async (house) => {
      execFileSync("mkfifo", [join(house.root, "pipe")]);
      expect(pathsOf(await list(house))).toEqual(["a", "b.txt"]);
      expect((await list(house, { include_other: true })).entries.at(-1)).toMatchObject({ type: "other" });
      const nothing = {
        include_files: false,
        include_dirs: false,
        include_symlinks: false,
        include_other: true,
      };
      expect(failureOf(await house.call("list_directory", { path: ".", ...nothing })).code).toBe("E3901");
      expect(failureOf(await house.call("list_directory", { path: " " })).code).toBe("E3901");
    }));

  it("takes the house's defaults where the call says nothing [FR-TOOL-LIST-01]", () =>
    inHouse(
      {
        files: FILES,
        tools: { limits: { list: { includeHidden: true, includeDirs: false, maxEntries: 9, maxDepth: 2 } } },
      },
      async (house) => {
        expect(await list(house)).toMatchObject({ max_entries: 9, returned: 2 });
        expect(pathsOf(await list(house, { include_hidden: false, include_dirs: true }))).toEqual([
          "a",
          "b.txt",
        ]);
        expect(pathsOf(await list(house, { recursive: true }))).toEqual([
          ".dot",
          ".hid/z",
          "a/x.txt",
          "b.txt",
        ]);
      },
    ));

  it("passes hostile names on as data", () =>
    inHouse({ files: { 'a"b\\c\nd\u001b[2J': "" } }, async (house) => {
      house.put("__proto__", "");
      expect(pathsOf(await list(house))).toEqual(["__proto__", 'a"b\\c\nd\u001b[2J']);
    }));
});
