import { readdirSync } from "node:fs";
import { release } from "node:os";
import { describe, expect, it } from "vitest";
import { launcherChoice, NOBODY, settings, temporaryFolder } from "./fixtures/settings.ts";
import { probeHost } from "./probe-host.ts";

describe.each(settings().filter(({ wrapped }) => !wrapped))("probe: $name", (setting) => {
  it("tries what the kernel allows, says why not, and leaves nothing", async () => {
    using folder = temporaryFolder();
    const facts = await probeHost(folder.path, {
      ...launcherChoice(setting),
      ...(setting.asRoot && { user: NOBODY }),
    });
    expect(facts.kernel).toBe(release());
    expect(facts.userns).toBe(facts.userNsErrno === 0);
    expect(facts.overlay).toBe(facts.overlayErrno === 0);
    expect(facts.seccompNotify).toBe(facts.seccompNotifyErrno === 0);
    expect(facts.idmap).toBe(facts.idmapErrno === 0);
    // Only root can map owners.
    if (!setting.asRoot) expect(facts.idmap).toBe(false);
    expect(readdirSync(folder.path)).toEqual([]);
  });

  it("rejects when its folder cannot be used", async () => {
    const facts = await probeHost("/no/such/folder", launcherChoice(setting));
    expect(facts).toMatchObject({ overlay: false, idmap: false });
  });
});
