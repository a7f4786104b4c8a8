import type { Turn } from "@sallyport/loop";
import { describe, expect, it } from "vitest";
import { historyEntries } from "./history.ts";

const at = 1;
const TURNS: Turn[] = [
  { kind: "user", text: "go", at },
  { kind: "tool_use", id: "a", name: "read_file", arguments: "{}", at },
  { kind: "tool_result", id: "a", name: "read_file", content: "done", isError: false, at },
  { kind: "tool_use", id: "b", name: "write_file", arguments: "{}", at },
];

describe("what an earlier conversation shows", () => {
  const callsIn = (asked?: ReadonlySet<string>) =>
    historyEntries(TURNS, asked).flatMap((entry) => (entry.kind === "call" ? [entry.call.id] : []));

  it("has every call, where nobody is asked about one", () => {
    expect(callsIn()).toEqual(["a", "b"]);
  });

  it("leaves interrupted calls to the question about them, and keeps those that have a result [FR-RES-05]", () => {
    expect(callsIn(new Set(["a", "b"]))).toEqual(["a"]);
  });

  it("gives each call its own result where ids repeat", () => {
    const used = { kind: "tool_use", id: "call_0", name: "run", arguments: "{}", at } as const;
    const came = { kind: "tool_result", id: "call_0", name: "run", at } as const;
    const turns: Turn[] = [
      { ...used },
      { ...came, content: "fine", isError: false },
      { ...used },
      { ...came, content: "broken", isError: true },
      { ...used },
    ];
    const standings = (asked?: ReadonlySet<string>) =>
      historyEntries(turns, asked).flatMap((entry) => (entry.kind === "call" ? [entry.call.standing] : []));
    const ended = [
      { state: "completed", isError: false, said: "" },
      { state: "completed", isError: true, said: "broken" },
    ];
    expect(standings()).toEqual([...ended, { state: "pending" }]);
    expect(standings(new Set(["call_0"]))).toEqual(ended);
  });
});
