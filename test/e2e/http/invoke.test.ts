import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { sharedHouse } from "./fixtures/shared-house.ts";

const house = sharedHouse();
describe("a call over HTTP", () => {
  it("works", async () => {
    const a = await house().invoke("echo", { a: 1 });
    console.log(JSON.stringify(a, null, 1));
    for (const [t, p] of [
      ["nope", {}],
      ["locked", {}],
      ["ledger", { file: 1 }],
    ] as const)
      console.log(JSON.stringify(await house().invoke(t, p)));
    for (const o of ["throw", "hang", "lie"])
      console.log(JSON.stringify(await house().invoke("faulty", {}, { body: { operation: o } })));
    console.log(JSON.stringify(await house().invoke("printer", {})));
  });
});
