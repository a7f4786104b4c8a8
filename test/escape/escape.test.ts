import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { findProgram } from "../../packages/adapters/src/sandbox/host/find-program.ts";
import { IS_SOAK } from "../counts.ts";
import { FAMILIES, type Family } from "./attempt.ts";
import { CORPUS } from "./attempts/index.ts";
import { isWanted, type PassResult } from "./pass-words.ts";
import { makeWorkshop, type PassKind, removeWorkshop, runPass, type Workshop } from "./run-pass.ts";

/*
 * Hostile programs, run for real in real sandboxes on a host full of canaries. Each attempt must be refused in the way it
 * should be, and the host must be as it was. `node test/escape/try.ts` shows single attempts.
 */

const LONGEST_PASS_MS = 1_200_000;
const IS_ROOT = process.getuid?.() === 0;

/** What each family proves. */
const PROVES: Record<Family, string> = {
  paths: "[L3-EXE-2]",
  "hidden paths": "[L3-EXE-2]",
  "kernel files": "[L3-EXE-2]",
  mounts: "[R2-2] [R2-3]",
  "other processes": "[R2-2] [R2-3]",
  signals: "[L3-EXE-2]",
  namespaces: "[R2-2] [R2-3]",
  privileges: "[L3-EXE-2]",
  devices: "[L3-EXE-2]",
  "fork bombs": "[MCX-7] [R1-5.2]",
  "memory bombs": "[MCX-7] [R1-5.2]",
  "disk fillers": "[MCX-7] [R1-5.2]",
  "processor time": "[MCX-7] [R1-5.2]",
  "descriptors and output": "[MCX-7] [R1-5.2]",
  network: "[L3-EXE-2]",
  egress: "[L3-EXE-2] [MCX-7]",
  leaks: "[L3-EXE-2]",
  terminal: "[R2-2]",
  keyring: "[R2-2]",
  "kernel calls": "[R2-2] [R2-3]",
  filter: "[R2-2] [R2-3]",
  survivors: "[L3-EXE-2] [R1-5.2]",
  launcher: "[L3-EXE-2] [R2-3]",
};

/** In full on one backend, its core on the others; `npm run soak` adds the rest. */
const HOSTS = ["root", "unprivileged"] as const;
const PASSES: PassKind[] = HOSTS.flatMap((host): PassKind[] => [
  { backend: "bubblewrap", host, selection: "all" },
  { backend: "oci", ociRuntime: "crun", host, selection: IS_SOAK ? "all" : "core" },
  ...(IS_SOAK ? [{ backend: "oci", ociRuntime: "runc", host, selection: "core" } as const] : []),
  { backend: "bubblewrap", nested: true, host, selection: "core" },
]);

function titleOf({ backend, ociRuntime, nested, host }: PassKind): string {
  return `${ociRuntime ?? backend}${nested ? " inside its agent's sandbox" : ""} on a host that is ${host}`;
}

/** Why a pass cannot be made here; a missing program is an error where everything has to be there. */
function reasonToSkip({ backend, ociRuntime, host }: PassKind): string | undefined {
  if (host === "root" && !IS_ROOT) return "this process is not root";
  const program = ociRuntime ?? "bwrap";
  if (backend === "none" || findProgram(program) !== undefined) return undefined;
  if (process.env.CI || process.env.SALLYPORT_REQUIRE_SERVICES)
    throw new Error(`${program} is not installed`);
  return `${program} is not installed`;
}

let workshop: Workshop;
const summary: string[] = [];
beforeAll(() => {
  workshop = makeWorkshop();
}, LONGEST_PASS_MS);
afterAll(() => {
  console.log(summary.join("\n"));
  if (workshop) removeWorkshop(workshop);
}, LONGEST_PASS_MS);

function problemsOf({ results }: PassResult, family: Family): string[] {
  return results
    .filter((one) => one.family === family && one.problems.length > 0)
    .map(({ name, problems, stdout, stderr }) => `${name}: ${problems.join("; ")}\n${stdout}\n${stderr}`);
}

describe.each(PASSES.map((kind) => ({ kind, title: titleOf(kind) })))("$title", ({ kind, title }) => {
  const reason = reasonToSkip(kind);
  if (reason !== undefined) console.warn(`Skipped: ${title}, because ${reason}.`);
  const attempts = CORPUS.filter((one) =>
    isWanted(one, { selection: kind.selection, ...(IS_ROOT && { devices: "made by root" }) }),
  );

  describe.skipIf(reason !== undefined)("holds every attempt", () => {
    let pass: PassResult;
    beforeAll(async () => {
      pass = await runPass(workshop, kind);
      const refused = pass.results.filter(({ problems }) => problems.length === 0).length;
      summary.push(`${title}: ${pass.results.length} attempts, ${refused} refused`);
    }, LONGEST_PASS_MS);

    for (const family of FAMILIES) {
      const names = attempts.filter((one) => one.family === family);
      if (names.length === 0) continue;
      it(`${family}: ${names.length} attempts are refused as they should be ${PROVES[family]}`, () => {
        expect(pass.results.filter((one) => one.family === family)).toHaveLength(names.length);
        expect(problemsOf(pass, family)).toEqual([]);
      });
    }

    it("the host is unharmed and nothing is left on it [L3-EXE-2] [R1-5.2]", () => {
      expect(pass.hostHarm).toEqual([]);
    });
  });
});

describe("without a sandbox", () => {
  it("the same attacks come off, so that it is the sandbox that holds them", async () => {
    const { results } = await runPass(workshop, {
      backend: "none",
      host: "unprivileged",
      selection: "bites",
    });
    const harmless = results.filter(({ problems }) => !problems.some((one) => one.startsWith("ESCAPED")));
    summary.push(
      `without a sandbox: ${results.length} attempts, ${results.length - harmless.length} came off`,
    );
    expect(harmless.map(({ name, ending }) => `${name}: ${ending}`)).toEqual([]);
    expect(results.length).toBeGreaterThan(25);
  });
});
