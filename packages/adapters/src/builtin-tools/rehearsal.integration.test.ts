import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { DEFAULT_LOOP_SETTINGS, type PlannedCall, planBatch } from "@sallyport/loop";
import type { JsonValue } from "@sallyport/protocol";
import { describe, expect, it } from "vitest";
import { type BuiltHouse, failureOf, inHouse, resultOf } from "./fixtures/built-house.ts";
import { lp1 } from "./fixtures/lp1.ts";
import { previewOf } from "./preview-effects.ts";
import { fileProblem } from "./problems.ts";

const patchOf = (...lines: string[]) => ({ patch: lp1(...lines) });
const ERASE = patchOf("F a.txt", "E", "two", ".");
const FILES = { "a.txt": "one\ntwo\n" };

/** Calls as a model would make them, planned by the tools of the house; whatever has side effects is asked about. */
async function planned(house: BuiltHouse, calls: readonly [name: string, input: JsonValue][]) {
  const tools = Object.values(house.tools).map(({ loop }) => loop);
  const asked = calls.map(([name, input], index) => ({
    index,
    id: `c${index}`,
    name,
    arguments: JSON.stringify(input),
  }));
  return await planBatch(asked, {
    mode: "enabled",
    settings: DEFAULT_LOOP_SETTINGS,
    tools: new Map(tools.map((tool) => [tool.name, tool])),
    conversationId: "talk",
    iteration: 1,
    engine: {
      plan: (request) =>
        house.engine.plan({
          ...request,
          caller: { tenant: "acme", agent: "agent", session: "talk" },
          requireApproval: request.tool !== "read_file",
        }),
    },
  });
}

const outcomes = (calls: readonly PlannedCall[]) =>
  calls.map((call) => (call.kind === "resolved" ? call.error.code : call.kind));

/** What speaks against the input, each with what makes it so. */
const REFUSED: [string, string, JsonValue, string, (house: BuiltHouse) => Promise<unknown> | unknown][] = [
  ["a file that was not read", "apply_patch", ERASE, "E3952", () => undefined],
  [
    "a file that changed since",
    "apply_patch",
    ERASE,
    "E3952",
    async ({ call, put }) => {
      await call("read_file", { path: "a.txt" });
      put("a.txt", "one\ntwo\nthree\n");
    },
  ],
  [
    "text that is not there",
    "apply_patch",
    patchOf("F a.txt", "E", "nine", "."),
    "E3951",
    ({ call }) => call("read_file", { path: "a.txt" }),
  ],
  [
    "a file that is gone",
    "apply_patch",
    ERASE,
    "E3952",
    async ({ call, root }) => {
      await call("read_file", { path: "a.txt" });
      rmSync(join(root, "a.txt"));
    },
  ],
  [
    "a folder",
    "apply_patch",
    patchOf("F d", "T", "x", "."),
    "E3951",
    ({ root }) => mkdirSync(join(root, "d")),
  ],
  ["a file that is there", "write_file", { path: "a.txt", content: "x" }, "E3907", () => undefined],
  ["a path outside", "write_file", { path: "../x", content: "x" }, "E3955", () => undefined],
];

describe("a call that cannot be done any more", () => {
  it.each(REFUSED)("is answered, not asked about: %s (%s %j, %s) [FR-VAL-02] [FR-APR-05]", (...given) =>
    inHouse({ files: FILES }, async (house) => {
      const [, name, input, code, prepare] = given;
      await prepare(house);
      const [call] = await planned(house, [[name, input]]);
      if (call?.kind !== "resolved") throw new Error(`it is to ${call?.kind}`);
      const run = failureOf(await house.call(name, input));
      expect([call.error.code, run.code]).toEqual([code, code]);
      if (code !== "E3955") expect(run.message).toContain(call.error.message);
      expect(call.summary).toMatch(/^(Apply patch|Write new file)/);
    }),
  );

  it("is asked about where an earlier call of the batch may mend it [FR-APR-02]", () =>
    inHouse({ files: FILES }, async (house) => {
      const patchNew = patchOf("F new.txt", "E", "two", ".");
      const batches: [string, JsonValue][][] = [
        [
          ["read_file", { path: "a.txt" }],
          ["apply_patch", ERASE],
        ],
        [
          ["write_file", { path: "new.txt", content: "one\ntwo\n" }],
          ["apply_patch", patchNew],
        ],
      ];
      for (const batch of batches) {
        expect(outcomes(await planned(house, batch)).at(-1)).toBe("confirm");
        for (const [name, input] of batch) resultOf(await house.call(name, input));
      }
    }));

  it("is answered where those before it cannot mend it, being answered themselves or only reading", () =>
    inHouse({ files: FILES }, async (house) => {
      resultOf(await house.call("read_file", { path: "a.txt" }));
      const batch = await planned(house, [
        ["write_file", { path: "a.txt", content: "x" }],
        ["read_file", { path: "a.txt" }],
        ["apply_patch", patchOf("F a.txt", "E", "nine", ".")],
        ["apply_patch", ERASE],
      ]);
      expect(outcomes(batch)).toEqual(["E3907", "execute", "E3951", "confirm"]);
    }));
});

describe("a preview", () => {
  it("says nothing where the workspace cannot be looked at", () =>
    inHouse({ files: FILES }, async ({ tools, root }) => {
      rmSync(root, { recursive: true });
      expect(await tools.write_file?.loop.preview?.({ path: "x", content: "" }, "talk")).toBeUndefined();
    }));

  it("tells what is wrong with a path from trouble of the system, which may be gone the next time", () =>
    inHouse({}, async ({ root }) => {
      const ended = (code: string) =>
        previewOf(root, () => Promise.reject(fileProblem("a", Object.assign(new Error("no"), { code }))));
      expect(await ended("EACCES")).toMatchObject({ code: "E3907", message: "a: permission denied" });
      for (const code of ["EIO", "EMFILE", "ENOMEM"]) expect(await ended(code), code).toBeUndefined();
    }));
});
