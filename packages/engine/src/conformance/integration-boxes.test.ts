import { describe, expect, it } from "vitest";
import { grantAuthority } from "../authorise/house-authority.ts";
import { createEngine } from "../call/engine.ts";
import { DEAF_METER, engineWith, engineWithUnits, sandboxOf, YES_MAN } from "./fixtures/broken-engines.ts";
import { capabilitySystemIsActive } from "./integration/capabilities.ts";
import { errorHandlerIsActive } from "./integration/error-handler.ts";
import { sandboxIsActive } from "./integration/sandbox.ts";
import { telemetryIsActive } from "./integration/telemetry.ts";
import { transactionIsActive } from "./integration/transaction.ts";
import { integrationBoxes } from "./integration-boxes.ts";

describe("integration boxes", () => {
  it("are five; all hold but the sandbox, which says why it does not [R1-9]", async () => {
    const boxes = await integrationBoxes({ authority: grantAuthority([]) });
    expect(boxes.map(({ id }) => id)).toEqual([1, 2, 3, 4, 5].map((n) => `9.3.${n}`));
    const sandbox = boxes.pop();
    expect(boxes.filter(({ passed }) => !passed)).toEqual([]);
    expect(sandbox).toMatchObject({ passed: false, evidence: "this engine was given no sandbox" });
  });
});

describe("an integration box falls open when the part is not joined [R1-9]", () => {
  it("9.3.1: changes are never kept", async () => {
    const forgetful = engineWithUnits(({ state: _state, ...unit }) => unit);
    const seen = await transactionIsActive(forgetful);
    expect(seen).toMatchObject({ passed: false, evidence: expect.stringContaining("was not kept") });
  });

  it("9.3.2: reports go nowhere", async () => {
    const seen = await errorHandlerIsActive(engineWith(() => ({ errors: { report: () => undefined } })));
    expect(seen).toMatchObject({
      passed: false,
      evidence: expect.stringContaining("did not reach the handler"),
    });
  });

  it("9.3.3: readings go nowhere", async () => {
    const seen = await telemetryIsActive(engineWith(() => ({ meter: DEAF_METER })));
    expect(seen).toMatchObject({
      passed: false,
      evidence: expect.stringContaining("did not reach the meter"),
    });
  });

  it("9.3.4: the authority says yes to everything", async () => {
    const seen = await capabilitySystemIsActive(engineWith(() => ({ authority: YES_MAN })));
    expect(seen).toMatchObject({ passed: false, evidence: expect.stringContaining("ended with success") });
  });

  it("9.3.4: only the house's own authority does", async () => {
    const seen = await capabilitySystemIsActive(createEngine, YES_MAN);
    expect(seen).toMatchObject({ passed: false, evidence: expect.stringMatching(/^this house's grants:/) });
  });

  it("9.3.5: is ticked only when a process tool really ran at LEVEL_2", async () => {
    const weak = await sandboxIsActive(createEngine, sandboxOf("LEVEL_1"));
    expect(weak).toMatchObject({ passed: false, evidence: expect.stringContaining("LEVEL_1") });
    const full = await sandboxIsActive(createEngine, sandboxOf("LEVEL_2"));
    expect(full).toMatchObject({ passed: true, evidence: expect.stringContaining("LEVEL_2") });
  });

  it("9.3.5: a runner that does not run is no excuse", async () => {
    const deny = engineWith(() => ({ authority: grantAuthority([]) }));
    const seen = await sandboxIsActive(deny, sandboxOf("LEVEL_2"));
    expect(seen).toMatchObject({ passed: false, evidence: expect.stringContaining("could not be run") });
    const nothing = await sandboxIsActive(createEngine, sandboxOf(undefined));
    expect(nothing).toMatchObject({ passed: false, evidence: expect.stringContaining("E3101") });
  });
});
