import { describe, expect, it } from "vitest";
import { SAMPLE_PLAN, sampleBind } from "../plan/fixtures/sample-plan.ts";
import { seatbeltProfile } from "./seatbelt-profile.ts";

const profile = seatbeltProfile(SAMPLE_PLAN, { scratch: "/private/tmp/s" });
const lines = profile.split("\n");

describe("a Seatbelt profile (not tried on a real kernel)", () => {
  it("denies everything first", () => {
    expect(lines.slice(0, 2)).toEqual(["(version 1)", "(deny default)"]);
  });

  it("allows writing only where the plan does", () => {
    const writable = lines.filter(
      (line) => line.includes("file-write* (subpath") && line.startsWith("(allow"),
    );
    expect(writable).toEqual([
      '(allow file-write* (subpath "/data"))',
      '(allow file-write* (subpath "/private/tmp/s"))',
    ]);
  });

  it("hides after it has allowed, since the later rule wins", () => {
    const hidden = '(deny file-read* file-write* process-exec (subpath "/ws/.git/hooks"))';
    expect(lines.indexOf(hidden)).toBeGreaterThan(lines.findLastIndex((line) => line.startsWith("(allow")));
    expect(profile).toContain('(literal "/ws/.env")');
  });

  it("knows no network but the proxy", () => {
    expect(profile).not.toContain("network");
    const connected = seatbeltProfile(SAMPLE_PLAN, { scratch: "/s", proxyPort: 3128 });
    expect(connected).toContain('(allow network-outbound (remote ip "localhost:3128"))');
  });

  it("lets no path end its string", () => {
    const mounts = [sampleBind('/a") (allow default) ("', "ro")];
    const quoted = seatbeltProfile({ mounts }, { scratch: "/s" });
    expect(quoted).toContain('(subpath "/a\\") (allow default) (\\""))');
  });
});
