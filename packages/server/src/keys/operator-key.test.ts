import { chmodSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { KeyRoom, sound } from "./fixtures/key-room.ts";
import { ensureOperatorKey, type OperatorKey, readOperatorKey } from "./operator-key.ts";

let room: KeyRoom;
beforeEach(() => {
  room = new KeyRoom();
});
afterEach(() => room.remove());

const made = () => sound<OperatorKey>(ensureOperatorKey(room.folder));

describe("the operator key", () => {
  it("is made once, for its owner alone, and kept", () => {
    const { key, file } = made();
    expect(key).toMatch(/^spo_[\w-]{43}$/);
    expect(readFileSync(file, "utf8")).toBe(`${key}\n`);
    expect(room.modeOf("operator.key")).toBe(0o600);
    expect(made()).toEqual({ key, file });
    expect(readdirSync(room.folder)).toEqual(["operator.key"]);
  });

  it("is another one in each server", () => {
    const { key } = made();
    const other = new KeyRoom();
    expect(sound<OperatorKey>(ensureOperatorKey(other.folder)).key).not.toBe(key);
    other.remove();
  });

  it.each([0o640, 0o604, 0o666])("is refused when others can read it (%o)", (mode) => {
    const { key, file } = made();
    chmodSync(file, mode);
    const refused = readOperatorKey(room.folder);
    expect(refused).toMatchObject({ code: "E3227", advice: `Run: chmod 600 ${file}` });
    expect(ensureOperatorKey(room.folder)).toMatchObject({ code: "E3227" });
    expect(JSON.stringify(refused)).not.toContain(key);
  });

  it.each(["", "secret", `spo_${"x".repeat(42)}`, `spo_${"x".repeat(43)} and more`])(
    "is refused when the file holds %j, which is not quoted",
    (content) => {
      const { file } = made();
      writeFileSync(file, content);
      const refused = readOperatorKey(room.folder);
      expect(refused).toMatchObject({ code: "E3227", message: expect.stringContaining(file) });
      if (content) expect(JSON.stringify(refused)).not.toContain(content);
    },
  );

  it("is refused when it is a link, or the folder is open to others, or a file", () => {
    const { file } = made();
    writeFileSync(join(room.root, "elsewhere"), readFileSync(file), { mode: 0o600 });
    rmSync(file);
    symlinkSync(join(room.root, "elsewhere"), file);
    expect(readOperatorKey(room.folder)).toMatchObject({ code: "E3227" });
    chmodSync(room.folder, 0o755);
    expect(ensureOperatorKey(room.folder)).toMatchObject({ code: "E3227" });
    expect(ensureOperatorKey(join(room.root, "elsewhere"))).toMatchObject({ code: "E3227" });
  });

  it("is missing where nobody made one", () => {
    expect(readOperatorKey(room.folder)).toMatchObject({ code: "E3227" });
  });
});
