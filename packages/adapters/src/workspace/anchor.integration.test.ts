import { spawn } from "node:child_process";
import { once } from "node:events";
import {
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  realpath,
  rename,
  rm,
  symlink,
  writeFile,
} from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { Anchor } from "./anchor.ts";
import { openWorkspaces } from "./index.ts";

/** A workspace with a folder `d`, and a place outside that looks alike. */
async function withOutside(test: (base: string) => Promise<void>): Promise<void> {
  const base = await realpath(await mkdtemp(join(tmpdir(), "sallyport-anchor-")));
  try {
    for (const [folder, content] of [
      ["ws/d", "inside"],
      ["outside", "outside"],
    ] as const) {
      await mkdir(join(base, folder), { recursive: true });
      await writeFile(join(base, folder, "f"), content);
    }
    await test(base);
  } finally {
    await rm(base, { recursive: true });
  }
}

/** Swaps the folder for a link to the outside and back, as fast as it can, until it is killed. */
const SWAPPER = `
  const fs = require("node:fs");
  const [d, away, link, outside] = process.argv.slice(1);
  fs.symlinkSync(outside, link);
  process.stdout.write("ready");
  for (;;) {
    fs.renameSync(d, away); fs.renameSync(link, d);
    fs.renameSync(d, link); fs.renameSync(away, d);
  }
`;

async function whileSwapping(base: string, work: () => Promise<void>): Promise<void> {
  const paths = ["ws/d", "ws/away", "link", "outside"].map((path) => join(base, path));
  const swapper = spawn(process.execPath, ["-e", SWAPPER, ...paths], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const ended = once(swapper, "close");
  try {
    await once(swapper.stdout, "data");
    await work();
    expect(swapper.exitCode, "the swapper found something where it had put nothing").toBeNull();
  } finally {
    swapper.kill("SIGKILL");
    await ended;
  }
}

describe("an anchored folder", () => {
  it("is not entered through a link, at its root or below", () =>
    withOutside(async (base) => {
      await symlink(join(base, "outside"), join(base, "ws/l"));
      await symlink(join(base, "ws"), join(base, "root-link"));
      await expect(Anchor.open(join(base, "root-link"))).rejects.toMatchObject({ code: "ENOTDIR" });
      const anchor = await Anchor.open(join(base, "ws"));
      await expect(anchor.at("l/f", (path) => readFile(path))).rejects.toMatchObject({ code: "ENOTDIR" });
      await expect(anchor.at("d/f/x", (path) => readFile(path))).rejects.toMatchObject({ code: "ENOTDIR" });
      await anchor.close();
    }));

  it("stays the same folder when its name goes to another", () =>
    withOutside(async (base) => {
      const anchor = await Anchor.open(join(base, "ws"));
      const read = () => anchor.at("d/f", (path) => readFile(path, "utf8"));
      expect(await read()).toBe("inside");
      await rename(join(base, "ws/d"), join(base, "ws/away"));
      await symlink(join(base, "outside"), join(base, "ws/d"));
      expect(await read()).toBe("inside");
      await anchor.forget("d");
      await expect(read()).rejects.toMatchObject({ code: "ENOTDIR" });
      await anchor.close();
    }));

  it("gives nothing from outside and puts nothing there while someone swaps folders for links [E3105]", () =>
    withOutside(async (base) => {
      const root = join(base, "ws");
      const workspaces = await openWorkspaces({ folder: join(base, "state"), view: "copy" });
      const rules = { root, writable: true, denied: [] };
      const seen = new Set<string>();
      let applied = 0;
      await whileSwapping(base, async () => {
        for (let round = 0; round < 150; round += 1) {
          const call = workspaces.begin({ callId: `r${round}`, rules, maxBytes: 1e6 });
          const content = await call.files.read("d/f").catch((error: Error) => error.name);
          seen.add(String(content));
          const wrote = await call.files.write(`d/n${round}`, "x").then(
            () => true,
            () => false,
          );
          const done = wrote ? await call.apply().catch(() => undefined) : undefined;
          if (done?.ok) {
            applied += 1;
            await call.keep();
          } else await call.rollback().catch(() => undefined);
        }
      });
      expect([...seen]).not.toContain("outside");
      expect([...seen]).toContain("inside");
      expect(await readdir(join(base, "outside"))).toEqual(["f"]);
      console.log(`${applied} of 150 applied while folders were swapped`);
    }));
});
