import { isDeepStrictEqual } from "node:util";
import { type CallAnswer, isJsonObject, type JsonObject, type JsonValue } from "@sallyport/protocol";
import { statesOf } from "../answers.ts";
import { Findings, type Seen } from "../box.ts";
import { type EngineFactory, inProbeHouse, PROBER } from "../probe-house.ts";
import { checkChain, eventsOf } from "../probe-record.ts";
import { probe } from "../probe-tool.ts";
import { ALL_BUT_STRANGERS, everyEnding } from "./endings.ts";

const DIGEST = /^[0-9a-f]{64}$/;

const isText = (value: JsonValue | undefined) => typeof value === "string" && value !== "";
const isDigest = (value: JsonValue | undefined) => typeof value === "string" && DIGEST.test(value);

/** What every event must say (R1-8.1), whatever the state. */
const FIELDS: Record<string, (value: JsonValue | undefined) => boolean> = {
  eventId: isText,
  timestamp: (value) => typeof value === "number" && value > 0,
  toolId: (value) => value === probe.manifest.id,
  toolVersion: (value) => value === probe.manifest.version,
  executionId: isText,
  state: isText,
  userId: (value) => value === PROBER.user,
  capabilities: Array.isArray,
  inputHash: isDigest,
};

/** Takes calls to every ending there is; each state must have left a whole event in an intact chain. */
export async function auditsEverything(make: EngineFactory): Promise<Seen> {
  return await inProbeHouse({ make, authority: ALL_BUT_STRANGERS }, async (house) => {
    const found = new Findings();
    const told: JsonObject[] = [];
    for (const answer of await everyEnding(house)) {
      const events = await eventsOf(house.store, answer.executionId);
      expectTold(found, answer, events);
      told.push(...events);
    }
    found.expect(new Set(told.map(({ eventId }) => eventId)).size === told.length, "two events share an id");
    const { findings, events } = await checkChain(house.store);
    found.expect(findings.length === 0, `the chain is broken: ${findings[0]?.message}`);
    return found.conclude(
      `${told.length} transitions on record with every field; chain of ${events} events intact`,
    );
  });
}

function expectTold(found: Findings, answer: CallAnswer, events: JsonObject[]): void {
  const entered = statesOf(answer);
  const told = events.map(({ state }) => state);
  const missing = `of ${entered.join(", ")} only ${told.join(", ") || "nothing"} is on record`;
  found.expect(isDeepStrictEqual(told, entered), missing);
  for (const event of events) expectWhole(found, event);
  expectEnd(found, answer, events.at(-1));
}

function expectWhole(found: Findings, event: JsonObject): void {
  for (const [field, isRight] of Object.entries(FIELDS)) {
    found.expect(isRight(event[field]), `${String(event.state)} says nothing usable about ${field}`);
  }
}

/** The last event also carries the outcome, and the answer's receipt points into the chain. */
function expectEnd(found: Findings, answer: CallAnswer, last: JsonObject = {}): void {
  const state = String(last.state);
  if (answer.status === "success") {
    found.expect(isDigest(last.outputHash), `${state} has no hash of the output`);
    found.expect(typeof last.duration === "number", `${state} has no duration`);
    found.expect(
      isDeepStrictEqual(last.capabilities, [...probe.manifest.requiredCapabilities]),
      `${state} does not say what was granted`,
    );
  } else {
    const error = last.error;
    found.expect(
      isJsonObject(error) && error.code === answer.error.code,
      `${state} does not say what went wrong`,
    );
  }
  found.expect(answer.receipt !== undefined, `the answer of ${state} has no receipt`);
}
