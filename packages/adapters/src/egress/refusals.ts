import type { ErrorCode } from "@sallyport/protocol";
import type { Denial } from "./denial.ts";

/** One refusal by policy or by a limit. */
export interface Refusal {
  /** As it was asked for, in its one spelling; empty when none could be read. */
  host: string;
  /** 0 when none could be read. */
  port: number;
  why: string;
  /** E3104 for the policy, E3102 for a limit, E3301 for a credential that could not be had. */
  code: ErrorCode;
}

/** Refusals of one kind. */
export interface RefusalCount extends Refusal {
  times: number;
}

const MOST_KINDS = 64;
const REFUSING = new Set<ErrorCode>(["E3104", "E3102", "E3301"]);

/** Remembers what was refused and how often. Bounded: beyond 64 kinds the rest is counted together. */
export class Refusals {
  readonly #counts = new Map<string, RefusalCount>();
  readonly #onRefused: ((refusal: Refusal) => void) | undefined;

  constructor(onRefused?: (refusal: Refusal) => void) {
    this.#onRefused = onRefused;
  }

  /** Records a denial when it is a refusal; a failure of the network or a broken request is none. */
  record({ failure, to }: Denial): void {
    if (!REFUSING.has(failure.code)) return;
    const refusal = { host: to?.name ?? "", port: to?.port ?? 0, why: failure.message, code: failure.code };
    this.#count(refusal);
    this.#tell(refusal);
  }

  list(): RefusalCount[] {
    return [...this.#counts.values()].map((count) => ({ ...count }));
  }

  #count(refusal: Refusal): void {
    const key = `${refusal.code} ${refusal.host}:${refusal.port} ${refusal.why}`;
    const known = this.#counts.get(key);
    if (known) known.times += 1;
    else if (this.#counts.size < MOST_KINDS - 1) this.#counts.set(key, { ...refusal, times: 1 });
    else this.#countRest();
  }

  #countRest(): void {
    const rest = this.#counts.get("");
    if (rest) rest.times += 1;
    else this.#counts.set("", { host: "", port: 0, why: "Other refusals", code: "E3104", times: 1 });
  }

  /** A listener's fault must not end the connection, or the process. */
  #tell(refusal: Refusal): void {
    try {
      this.#onRefused?.(refusal);
    } catch (error) {
      process.emitWarning(error instanceof Error ? error : String(error));
    }
  }
}
