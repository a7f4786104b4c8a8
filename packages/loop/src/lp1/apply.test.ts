import { describe, expect, it } from "vitest";
import { applyPatch } from "./apply.ts";
import { patchOf } from "./fixtures/read.ts";
import { parsePatch } from "./parse.ts";
import { LP1_GUIDE } from "./patch.ts";

/** Files by key; `./` in front of a path is the same file. */
function filesOf(contents: Record<string, string>) {
  const reads: string[] = [];
  return {
    reads,
    keyOf: (path: string) => path.replace(/^\.\//u, ""),
    read: (key: string) => {
      reads.push(key);
      return contents[key] === undefined ? undefined : Buffer.from(contents[key]);
    },
  };
}

const apply = (contents: Record<string, string>, ...rows: string[]) =>
  applyPatch(patchOf(["LP1", ...rows, "END"].join("\n")), filesOf(contents));

describe("a whole patch", () => {
  it("says of each file what became of it [FR-TOOL-PATCH-01]", () => {
    const outcome = apply({ a: "1\n", c: "3\n" }, "F a", "T", "2", ".", "F ./b", "T", "x", ".", "F c", "F d");
    expect(outcome).toEqual({
      kind: "applied",
      files: [
        { kind: "modified", key: "a", path: "a", content: Buffer.from("1\n2\n") },
        { kind: "created", key: "b", path: "./b", content: Buffer.from("x") },
        { kind: "unchanged", key: "c", path: "c" },
        { kind: "unchanged", key: "d", path: "d" },
      ],
    });
  });

  it("goes on with what an earlier section made of the same file [FR-TOOL-PATCH-01]", () => {
    const files = filesOf({ a: "1\n" });
    const rows = ["LP1", "F a", "T", "2", ".", "F b", "F ./a", "R", "2", ".", "3", ".", "END"];
    expect(applyPatch(patchOf(rows.join("\n")), files)).toMatchObject({
      files: [{ kind: "modified", key: "a", content: Buffer.from("1\n3\n") }, { kind: "unchanged" }],
    });
    expect(files.reads).toEqual(["a", "b"]);
  });

  it("matches in a file that an earlier section made, not in one that it left unmade [FR-TOOL-PATCH-01]", () => {
    const made = apply({}, "F a", "T", "1", ".", "F a", "R", "1", ".", "2", ".");
    expect(made).toMatchObject({ files: [{ kind: "created", content: Buffer.from("2") }] });
    const unmade = apply({}, "F a", "T", ".", "F a", "R", "1", ".", "2", ".");
    expect(unmade).toMatchObject({ kind: "lp1_problem", reason: "missing_file", line: 6, path: "a" });
  });

  it("ends at the first problem, with its path and line [FR-TOOL-PATCH-01]", () => {
    const outcome = apply({ a: "1\n" }, "F a", "T", "2", ".", "F ./a", "E", "3", ".", "F b", "E", "x", ".");
    expect(outcome).toMatchObject({ kind: "lp1_problem", reason: "match_not_found", path: "./a", line: 7 });
  });

  it("blames the section for a file that is no text [FR-TOOL-PATCH-01]", () => {
    const outcome = apply({ a: "1\n", b: "1\r\n2\n" }, "F a", "N -", "F b", "N -");
    expect(outcome).toMatchObject({ kind: "lp1_problem", reason: "mixed_eol", path: "b", line: 4 });
  });

  it("reads newlines anew in each section: without any, LF is used [FR-TOOL-PATCH-01]", () => {
    const outcome = apply({ a: "1\r\n2" }, "F a", "E", "2", ".", "F a", "T", "3", ".");
    expect(outcome).toMatchObject({ files: [{ kind: "modified", content: Buffer.from("1\n3") }] });
  });

  it("is unchanged as a whole when sections undo each other", () => {
    const outcome = apply({ a: "1\n" }, "F a", "T", "2", ".", "F a", "E", "2", ".");
    expect(outcome).toEqual({ kind: "applied", files: [{ kind: "unchanged", key: "a", path: "a" }] });
  });

  it("has no files when it has no sections [FR-TOOL-PATCH-01]", () => {
    expect(apply({})).toEqual({ kind: "applied", files: [] });
  });
});

describe("the guide for models", () => {
  it("is short and its example is a patch", () => {
    expect(Buffer.byteLength(LP1_GUIDE)).toBeLessThanOrEqual(1_536);
    const example = LP1_GUIDE.slice(LP1_GUIDE.lastIndexOf("LP1\nF"));
    expect(parsePatch(example)).toMatchObject({ sections: [{ path: "src/app.ts" }, { path: "notes.txt" }] });
  });
});
