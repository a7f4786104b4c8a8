import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { FAMILIES } from "./attempt.ts";
import { CORPUS } from "./attempts/index.ts";

const ATTACKS = join(import.meta.dirname, "attacks");

describe("the corpus of escape attempts", () => {
  it("has well over a hundred and twenty, of every kind [L3-EXE-2]", () => {
    const names = CORPUS.map(({ family, name }) => `${family}: ${name}`);
    expect(new Set(names).size).toBe(names.length);
    expect(names.length).toBeGreaterThan(120);
    expect(CORPUS.filter(({ core }) => core).length).toBeGreaterThan(40);
    for (const family of FAMILIES)
      expect(names.filter((name) => name.startsWith(family)).length).toBeGreaterThan(2);
  });

  it("names only attacks that are written, and no attack is forgotten", () => {
    const sources = readdirSync(ATTACKS).map((name) => readFileSync(join(ATTACKS, name), "utf8"));
    const written = sources.flatMap((text) =>
      [...text.matchAll(/^ATTACK\((\w+)\)/gm)].map((match) => match[1]),
    );
    const used = CORPUS.flatMap(({ run }) => ("attack" in run ? [run.attack] : []));
    const forOthers = ["stand_as_canary", "who_am_i"];
    expect([...new Set(used)].toSorted()).toEqual(
      written.filter((name) => !forOthers.includes(name ?? "")).toSorted(),
    );
  });
});
