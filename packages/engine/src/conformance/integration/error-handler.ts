import type { Authority } from "../../ports/authority.ts";
import type { ErrorHandler } from "../../ports/telemetry.ts";
import { endOf, hasStack, statesOf } from "../answers.ts";
import { Findings, type Seen } from "../box.ts";
import { type EngineFactory, inProbeHouse } from "../probe-house.ts";
import { probe } from "../probe-tool.ts";

const LOST: Authority = {
  decide() {
    throw new Error("probe: the authority is lost");
  },
};

const BROKEN: ErrorHandler = {
  report() {
    throw new Error("probe: the error handler is broken");
  },
};

/** Lets a tool and the authority throw: both must reach the handler, and a handler that throws must harm nobody. */
export async function errorHandlerIsActive(make: EngineFactory): Promise<Seen> {
  const found = new Findings();
  await toolThrows(make, found);
  await authorityThrows(make, found);
  await handlerThrows(make, found);
  return found.conclude(
    "a tool's and the authority's exceptions were reported with stage and stack; a broken handler did no harm",
  );
}

async function toolThrows(make: EngineFactory, found: Findings): Promise<void> {
  await inProbeHouse({ make }, async (house) => {
    await house.register(probe);
    const { callId } = await house.call(probe, "changeThenThrow");
    const report = house.errors.reports.find((each) => each.callId === callId);
    found.expect(
      report?.stage === "execute" && report.code === "E3907",
      "a tool's exception did not reach the handler",
    );
    found.expect(hasStack(report), "the report has no stack");
  });
}

async function authorityThrows(make: EngineFactory, found: Findings): Promise<void> {
  await inProbeHouse({ make, authority: LOST }, async (house) => {
    await house.register(probe);
    const answer = await house.call(probe, "answer");
    found.expect(statesOf(answer).at(-1) === "DENIED", `a lost authority ended with ${endOf(answer)}`);
    const reported = house.errors.reports.some(
      ({ stage, code }) => stage === "authorise" && code === "E3206",
    );
    found.expect(reported, "the authority's exception did not reach the handler");
  });
}

async function handlerThrows(make: EngineFactory, found: Findings): Promise<void> {
  await inProbeHouse({ make, errors: BROKEN }, async (house) => {
    await house.register(probe);
    const answer = await house.call(probe, "throwText");
    found.expect(
      statesOf(answer).at(-1) === "ROLLED_BACK",
      `with a broken handler a call ended with ${endOf(answer)}`,
    );
  });
}
