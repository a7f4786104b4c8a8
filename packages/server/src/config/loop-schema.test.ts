import { describe, expect, it } from "vitest";
import { builtinLimitsOf, loopSettingsOf, retentionOf } from "../chat/loop-settings-of.ts";
import { configSchema } from "./schema.ts";

const read = (loop: object) => configSchema.parse({ loop });
const wrong = (loop: object) => configSchema.safeParse({ loop }).success;

describe("the settings of the tool loop", () => {
  const { loop } = read({});

  it("are there with the names and defaults of the specification [CFG-TOOLS-01] [CFG-SBX-01] [CFG-OUT-01] [CFG-APR-01]", () => {
    expect(loop).toMatchObject({
      mode: "parse_only",
      allow_parallel: false,
      max_tool_calls_per_batch: 8,
      max_tool_iterations_per_user_turn: 4,
      max_tool_args_bytes: 262_144,
      sandbox: {
        allowed_roots: ["."],
        denied_patterns: [],
        allow_absolute: false,
        include_default_denies: true,
      },
      output: { max_bytes: 102_400 },
      approval: {
        enabled: true,
        mode: "prompt",
        allowlist: ["read_file"],
        denylist: ["run_command"],
        prompt_side_effects: true,
      },
    });
  });

  it("set the tools' own limits [CFG-TMO-01] [CFG-READ-01] [CFG-PATCH-01] [CFG-ENV-01]", () => {
    expect(loop.timeouts.default_seconds).toBe(30);
    expect(loop.environment.denylist).toEqual([]);
    expect(builtinLimitsOf({ loop })).toEqual({
      maxFileReadBytes: 204_800,
      maxScanBytes: 2_097_152,
      maxPatchBytes: 524_288,
      fileTimeoutMs: 30_000,
      shellTimeoutMs: 300_000,
      list: {
        maxEntries: 200,
        maxDepth: 4,
        includeHidden: false,
        includeFiles: true,
        includeDirs: true,
        includeSymlinks: true,
        includeOther: false,
      },
    });
    const tight = read({ timeouts: { shell_commands_seconds: 1.5 }, read_file: { max_scan_bytes: 7 } });
    expect(builtinLimitsOf(tight)).toMatchObject({ shellTimeoutMs: 1_500, maxScanBytes: 7 });
  });

  it("reach the loop, and a flag counts more than the file [CFG-TOOLS-01] [CFG-APR-01]", () => {
    const given = read({
      mode: "disabled",
      approval: { mode: "deny", allowlist: ["list_directory"] },
      max_tool_calls_per_batch: 2,
      output: { max_bytes: 5 },
    });
    const window = { responseReserveTokens: 1 };
    expect(loopSettingsOf(given, { window })).toMatchObject({
      mode: "disabled",
      policy: { mode: "deny", allowlist: ["list_directory"], denylist: ["run_command"] },
      limits: { maxToolCallsPerBatch: 2, maxOutputBytes: 5 },
      window,
    });
    expect(loopSettingsOf(given, { mode: "enabled", window }).mode).toBe("enabled");
  });

  it("say how long conversations and their output stay, and 0 is for ever [NFR-REL-01]", () => {
    expect(retentionOf({ loop })).toEqual({ conversationDays: 90, outputBytes: 1_024 * 1_024 * 1_024 });
    const given = read({ keep_conversations_days: 0, keep_output_mb: 5 });
    expect(retentionOf(given)).toEqual({ conversationDays: 0, outputBytes: 5 * 1_024 * 1_024 });
  });

  it("take tools by hand, with a name a provider accepts [CFG-TOOLS-02]", () => {
    const definition = { name: "read_file", parameters: { type: "object" } };
    expect(read({ definitions: [definition] }).loop.definitions).toEqual([
      { ...definition, description: "" },
    ]);
    expect(wrong({ definitions: [{ ...definition, name: "read file" }] })).toBe(false);
    expect(wrong({ definitions: [{ name: "x" }] })).toBe(false);
  });

  it("do not take two tools by hand of one name [FR-REG-03]", () => {
    const definition = { name: "calc", parameters: { type: "object" } };
    const two = [definition, { ...definition, name: "other" }, { ...definition, description: "another" }];
    expect(configSchema.safeParse({ loop: { definitions: two } }).error?.issues).toMatchObject([
      { path: ["loop", "definitions", 2, "name"], message: expect.stringContaining('"calc"') },
    ]);
  });

  it.each<[string, object, string[]]>([
    ["another tool is denied", { denylist: ["write_file"] }, ["write_file", "run_command"]],
    ["it is denied itself", { denylist: ["run_command"], allowlist: ["run_command"] }, ["run_command"]],
    ["nothing is said", {}, ["run_command"]],
    ["the list is empty", { denylist: [] }, []],
    ["it is allowed", { denylist: ["write_file"], allowlist: ["run_command"] }, ["write_file"]],
  ])("keep commands denied unless they are opened: %s [NFR-SEC-06]", (_, approval, denylist) => {
    const settings = loopSettingsOf(read({ approval }), { window: { responseReserveTokens: 1 } });
    expect(settings.policy.denylist).toEqual(denylist);
  });

  it.each([
    ["an unknown mode", { mode: "on" }],
    ["an unknown key", { max_calls: 3 }],
    ["no calls at all", { max_tool_calls_per_batch: 0 }],
    ["days that are no whole number", { keep_conversations_days: 0.5 }],
    ["output of less than nothing", { keep_output_mb: -1 }],
    ["days in words", { keep_conversations_days: "90d" }],
    ["no root", { sandbox: { allowed_roots: [] } }],
    ["a time-out of nothing", { timeouts: { default_seconds: 0 } }],
    ["a default above what a tool without a limit may take", { timeouts: { default_seconds: 30.1 } }],
    ["a time-out of less than a millisecond", { timeouts: { shell_commands_seconds: 0.0001 } }],
    ["more to scan than memory holds", { read_file: { max_scan_bytes: 2e9 } }],
    ["more to patch than memory holds", { apply_patch: { max_patch_bytes: 2e9 } }],
  ])("are refused when they make no sense: %s", (_, given) => {
    expect(wrong(given)).toBe(false);
  });
});
