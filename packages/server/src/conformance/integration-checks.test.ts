import { grantAuthority } from "@sallyport/engine";
import { describe, expect, it } from "vitest";
import { runChecks } from "./check.ts";
import {
  DEAF_METER,
  engineWith,
  engineWithUnits,
  SOUND_ENGINE,
  sandboxOf,
  YES_MAN,
} from "./fixtures/broken-engines.ts";
import { INTEGRATION_CHECKS, type IntegrationContext } from "./integration-checks.ts";

describe("integration checks", () => {
  it("are five; all pass but the sandbox, which says why it does not [R1-9]", async () => {
    const authority = grantAuthority([]);
    const checks = await runChecks(INTEGRATION_CHECKS, { make: SOUND_ENGINE, authority });
    expect(checks.map(({ id }) => id)).toEqual([1, 2, 3, 4, 5].map((n) => `9.3.${n}`));
    const sandbox = checks.pop();
    expect(checks.filter(({ passed }) => !passed)).toEqual([]);
    expect(sandbox).toMatchObject({ passed: false, evidence: "this engine was given no sandbox" });
  });
});

const forgetful = engineWithUnits(({ state: _state, ...unit }) => unit);
const silent = engineWith(() => ({ errors: { report: () => undefined } }));
const yes = engineWith(() => ({ authority: YES_MAN }));
const denying = engineWith(() => ({ authority: grantAuthority([]) }));
const sound = (parts: Partial<IntegrationContext>) => ({ make: SOUND_ENGINE, ...parts });

const CASES: [id: string, what: string, context: IntegrationContext, passed: boolean, evidence: RegExp][] = [
  ["9.3.1", "changes are never kept", { make: forgetful }, false, /was not kept/],
  ["9.3.2", "reports go nowhere", { make: silent }, false, /did not reach the handler/],
  [
    "9.3.3",
    "readings go nowhere",
    { make: engineWith(() => ({ meter: DEAF_METER })) },
    false,
    /did not reach the meter/,
  ],
  ["9.3.4", "the authority says yes to everything", { make: yes }, false, /ended with success/],
  [
    "9.3.4",
    "only the configured authority does",
    sound({ authority: YES_MAN }),
    false,
    /^the configured grants:/,
  ],
  ["9.3.5", "a process tool ran at LEVEL_1", sound({ sandbox: sandboxOf("LEVEL_1") }), false, /LEVEL_1/],
  ["9.3.5", "a process tool ran at LEVEL_2", sound({ sandbox: sandboxOf("LEVEL_2") }), true, /LEVEL_2/],
  [
    "9.3.5",
    "the call is denied",
    { make: denying, sandbox: sandboxOf("LEVEL_2") },
    false,
    /could not be run/,
  ],
  ["9.3.5", "no sandbox can be had", sound({ sandbox: sandboxOf(undefined) }), false, /E3101/],
];

describe("an integration check passes only when the part is joined [R1-9]", () => {
  it.each(CASES)("%s: %s", async (id, _what, context, passed, evidence) => {
    const checks = INTEGRATION_CHECKS.checks.filter(([own]) => own === id);
    const [check] = await runChecks({ ...INTEGRATION_CHECKS, checks }, context);
    expect(check).toMatchObject({ id, passed, evidence: expect.stringMatching(evidence) });
  });
});
