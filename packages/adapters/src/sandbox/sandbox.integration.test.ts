import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { findProgram } from "./host/find-program.ts";
import { createSandbox, type SandboxOptions } from "./index.ts";
import { type SandboxUnderTest, sandboxContract } from "./testing/sandbox-contract.ts";
import type { SandboxFixture } from "./testing/sandbox-fixture.ts";

async function make(
  level: SandboxFixture["level"],
  options: Omit<SandboxOptions, "runtimeFolder">,
): Promise<SandboxUnderTest> {
  const runtimeFolder = await mkdtemp(join(tmpdir(), "sp-"));
  const sandbox = createSandbox({ runtimeFolder, ...options });
  return {
    sandbox,
    level,
    dispose: async () => {
      await sandbox.close();
      expect(await readdir(runtimeFolder)).toEqual([]);
      await rm(runtimeFolder, { recursive: true });
    },
  };
}

/** On a laptop a missing program is a skip that says so; where everything has to be tested it is an error. */
function withProgram(program: string, suite: () => void): void {
  const isRequired = Boolean(process.env.CI ?? process.env.SALLYPORT_REQUIRE_SERVICES);
  if (isRequired || findProgram(program)) suite();
  else it.skip(`${program} is not installed here`, () => undefined);
}

describe(process.getuid?.() === 0 ? "for root" : "for an unprivileged user", () => {
  withProgram("bwrap", () => {
    sandboxContract("bubblewrap", "LEVEL_2", () => make("LEVEL_2", { backends: ["bubblewrap"] }));
    sandboxContract("bubblewrap without cgroups", "LEVEL_2", () =>
      make("LEVEL_2", { backends: ["bubblewrap"], cgroups: "off" }),
    );
  });
  // runc is tried in `npm run soak` only: it differs from crun in how it is started.
  for (const ociRuntime of process.env.SALLYPORT_SOAK === "1" ? ["crun", "runc"] : ["crun"]) {
    withProgram(ociRuntime, () => {
      sandboxContract(`oci-${ociRuntime}`, "LEVEL_2", () =>
        make("LEVEL_2", { backends: ["oci"], ociRuntime }),
      );
    });
  }
  sandboxContract("process", "LEVEL_1", () => make("LEVEL_1", { backends: ["process"] }));
});
