import { afterAll, beforeAll, describe } from "vitest";
import { boundsContract, manyPathsContract, nestedContract } from "./contract-bounds.ts";
import { endingsContract } from "./contract-endings.ts";
import { cleanlinessContract, isolationContract } from "./contract-isolation.ts";
import { limitsContract } from "./contract-limits.ts";
import { workspaceContract } from "./contract-workspace.ts";
import type { OpenSandbox, SandboxFixture } from "./sandbox-fixture.ts";

/** A sandbox to test, and how to get rid of it. */
export interface SandboxUnderTest extends SandboxFixture {
  dispose(): Promise<void>;
}

/** What every sandbox must do, as one suite: registers tests under `name` for the sandbox that `make` makes. */
export function sandboxContract(
  name: string,
  level: SandboxFixture["level"],
  make: () => Promise<SandboxUnderTest>,
): void {
  describe(`${name} keeps the sandbox contract`, () => {
    let made: SandboxUnderTest | undefined;
    beforeAll(async () => {
      made = await make();
    });
    afterAll(() => made?.dispose());
    const open: OpenSandbox = () => {
      if (!made) throw new Error("The sandbox under test could not be made.");
      return made;
    };
    describe("a process", () => endingsContract(open));
    describe("a process", () => cleanlinessContract(open));
    describe("a limit on", () => limitsContract(open));
    describe("a workspace is seen", () => workspaceContract(open));
    describe("the agent's bounds", () => boundsContract(open));
    describe("an order", () => manyPathsContract(open));
    if (level !== "LEVEL_2") return;
    describe("an isolated process", () => isolationContract(open));
    describe("a tool inside its agent's sandbox", () => nestedContract(open));
  });
}
