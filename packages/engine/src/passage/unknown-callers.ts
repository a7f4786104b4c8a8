import { canonicalJson, type Failure } from "@sallyport/protocol";
import { auditBody, SYSTEM_TENANT } from "../audit/index.ts";
import type { Clock, ErrorHandler, Ids } from "../ports/platform.ts";
import type { Store } from "../ports/store.ts";
import { redactText } from "../redact/redact.ts";

/** A request that a door refused before it became a call. */
export interface DoorRefusal {
  error: Pick<Failure, "code" | "message">;
  /** What was asked for, in the door's words. */
  route: string;
  requestId: string;
  /** Where it came from. */
  address?: string | undefined;
}

/** How long refusals that were left out wait to be told as a number. */
const TELL_MS = 60_000;

interface RecordContext {
  store: Pick<Store, "commit">;
  clock: Clock;
  ids: Ids;
  errors: ErrorHandler;
}

/** Puts refusals of callers who have shown nothing on record in the installation's own chain, within a budget. */
export class UnknownCallers {
  readonly #context: RecordContext;
  readonly #budget = new RefusalBudget();
  #timer: NodeJS.Timeout | undefined;

  constructor(context: RecordContext) {
    this.#context = context;
  }

  /**
   * What the event has to say of those left out before it; undefined: the refusal is counted and not recorded. Refusals
   * of one source have a budget together.
   */
  admit(source: string): { note?: string } | undefined {
    const leftOut = this.#budget.take(this.#context.clock.now(), source);
    if (leftOut !== undefined) return leftOut === 0 ? {} : { note: leftOutText(leftOut) };
    this.#timer ??= setTimeout(() => void this.tellLeftOut(), TELL_MS).unref();
    return undefined;
  }

  /** Never rejects: a store that cannot be written to is reported. */
  async record({ error, route, requestId, address }: DoorRefusal): Promise<void> {
    const { code, message } = error;
    const admitted = this.admit(`${code} ${address}`);
    if (!admitted) return;
    const said = { code, message: redactText(message).toWellFormed() };
    await this.#write({ ...admitted, error: said, requestId, route, ...(address && { address }) });
  }

  /** Tells as one event how many refusals were left out; nothing where none was. Never rejects. */
  async tellLeftOut(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const count = this.#budget.takeLeftOut();
    if (count > 0) await this.#write({ note: leftOutText(count), leftOut: count });
  }

  async #write(facts: Parameters<typeof canonicalJson>[0] & object): Promise<void> {
    const { store, clock, ids, errors } = this.#context;
    const fixed = {
      eventId: ids.next(),
      state: "REFUSED",
      timestamp: clock.now(),
    };
    try {
      const audit = auditBody(SYSTEM_TENANT, [canonicalJson({ ...facts, ...fixed })]);
      await store.commit({ tenant: SYSTEM_TENANT, audit });
    } catch (error) {
      errors.report({ error, code: "E3801", stage: "record refusal" });
    }
  }
}

function leftOutText(count: number): string {
  return `${count} more refusals of unknown callers before this one are not on record one by one`;
}

/** As many refusals as go on record at once. */
const AT_ONCE = 20;
/** After those, one for each such span. */
const EVERY_MS = 60_000;
/** As many sources as have a budget of their own; all others share one. */
const MOST_SOURCES = 100;

interface Budget {
  left: number;
  filledAt: number;
}

/**
 * Bounds what callers who have shown nothing can have written about them: of each source twenty refusals at once, then
 * one a minute. The others are counted, so that a stranger cannot fill a disk, nothing is left out in silence, and who
 * makes noise hides only refusals of the same source.
 */
export class RefusalBudget {
  readonly #budgets = new Map<string, Budget>();
  #leftOut = 0;

  /** How many were left out since the last one that is written; undefined: this one is left out too. */
  take(at: number, source: string): number | undefined {
    const budget = this.#budgetOf(source, at);
    if (budget.left === 0) {
      this.#leftOut += 1;
      return undefined;
    }
    budget.left -= 1;
    return this.takeLeftOut();
  }

  /** How many were left out since the last one that is written; they count as told from here on. */
  takeLeftOut(): number {
    const count = this.#leftOut;
    this.#leftOut = 0;
    return count;
  }

  #budgetOf(source: string, at: number): Budget {
    const known = this.#budgets.get(source);
    if (!known && this.#budgets.size >= MOST_SOURCES) this.#forgetQuiet(at);
    const isKnown = known !== undefined || this.#budgets.size < MOST_SOURCES;
    const name = isKnown ? source : "";
    const budget = filled(this.#budgets.get(name), at);
    this.#budgets.set(name, budget);
    return budget;
  }

  #forgetQuiet(at: number): void {
    for (const [source, budget] of this.#budgets) {
      if (filled(budget, at).left === AT_ONCE) this.#budgets.delete(source);
    }
  }
}

function filled(budget: Budget | undefined, at: number): Budget {
  if (!budget) return { left: AT_ONCE, filledAt: at };
  const spans = Math.floor((at - budget.filledAt) / EVERY_MS);
  return spans > 0 ? { left: Math.min(AT_ONCE, budget.left + spans), filledAt: at } : budget;
}
