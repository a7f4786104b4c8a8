import { describe, expect, it } from "vitest";
import { createEnvSanitizer } from "./env-sanitizer.ts";

describe("the environment of a command", () => {
  it("has no secrets in it, in capitals or not [FR-EXE-06] [CFG-ENV-01]", () => {
    const env = {
      STRIPE_KEY: "1",
      GH_TOKEN: "2",
      app_secret: "3",
      Db_Password: "4",
      AWS_REGION: "5",
      ANTHROPIC_BASE_URL: "6",
      openai_org: "7",
      LANG: "C",
      CI: "1",
      KEYBOARD: "kept",
      UNSET: undefined,
    };
    expect(createEnvSanitizer().clean(env)).toEqual({ LANG: "C", CI: "1", KEYBOARD: "kept" });
  });

  it("loses what is configured as well, and gets nothing back for it [CFG-ENV-01]", () => {
    const { clean } = createEnvSanitizer(["MY_*", "EXACT", "a.c"]);
    expect(clean({ MY_THING: "1", EXACT: "2", EXACTLY: "3", abc: "4", X_KEY: "5" })).toEqual({
      EXACTLY: "3",
      abc: "4",
    });
  });

  it("does not lead a program to the host's folders or loaders [FR-EXE-06]", () => {
    const env = { HOME: "/root", TMPDIR: "/x", PWD: "/y", XDG_CONFIG_HOME: "/z", LD_PRELOAD: "evil.so" };
    expect(createEnvSanitizer().clean(env)).toEqual({});
  });
});
