import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { isFailure } from "@sallyport/protocol";
import { afterEach, describe, expect, it } from "vitest";
import { openHouse } from "./compose.ts";
import { loadConfig } from "./config/load.ts";

const REFUNDS = fileURLToPath(new URL("../../../examples/refunds", import.meta.url));
const folders: string[] = [];

function example(): string {
  const folder = mkdtempSync(join(tmpdir(), "sallyport-house-"));
  folders.push(folder);
  cpSync(`${REFUNDS}/policy.yaml`, join(folder, "policy.yaml"));
  writeFileSync(
    join(folder, "sallyport.yaml"),
    readFileSync(`${REFUNDS}/sallyport.yaml`, "utf8").replace("- refunds.ts", `- ${REFUNDS}/refunds.ts`),
  );
  return folder;
}

afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

describe("an open house", () => {
  it("takes new rules without a restart, and keeps the old ones when the new are wrong", async () => {
    const folder = example();
    const told: string[] = [];
    let tell = () => {};
    const config = loadConfig({ cwd: folder });
    const house = await openHouse({
      config,
      onRules: (outcome) => {
        told.push(isFailure(outcome) ? outcome.code : "reloaded");
        tell();
      },
    });
    const changed = async (edit: (text: string) => string) => {
      const next = new Promise<void>((resolve) => {
        tell = resolve;
      });
      const file = join(folder, "policy.yaml");
      writeFileSync(file, edit(readFileSync(file, "utf8")));
      await next;
    };
    const status = async () => {
      const caller = { tenant: "local", agent: "cli" };
      return (await house.engine.call({ tool: "refunds", input: { order: "A-1", amount: 80 }, caller }))
        .status;
    };
    try {
      expect(await status()).toBe("pending_approval");
      await changed((text) => text.replace("effect: ask", "effect: maybe"));
      expect(await status()).toBe("pending_approval");
      await changed((text) => text.replace("effect: maybe", "effect: allow"));
      expect(await status()).toBe("success");
      expect(told).toEqual(["E3223", "reloaded"]);
    } finally {
      await house.close();
    }
  }, 120_000);
});
