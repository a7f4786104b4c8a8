import type { LoadedConfig } from "../config/load.ts";
import type { Gateway } from "../gateway/gateway.ts";
import { type OperatorLimits, operatorLimitsOf } from "../runtime/operator-limits.ts";

interface Watched {
  /** The one in force: a reload replaces it. */
  readonly config: LoadedConfig;
  readonly live: {
    readonly goneTools: ReadonlySet<string>;
    readonly gateway?: Pick<Gateway, "domain"> | undefined;
  };
}

/**
 * The tools that the operator lets nobody call for now: those that `toolLimits` switch off, those of which a reload
 * found no version any more, and in a gateway those that its domain does not have. Calls of both are refused with E3014.
 */
export class SwitchedOffTools {
  readonly #runtime: Watched;
  #limits: { config: LoadedConfig; toolRules: OperatorLimits["toolRules"] } | undefined;

  constructor(runtime: Watched) {
    this.#runtime = runtime;
  }

  has(tool: string): boolean {
    return this.#rules()(tool)?.enabled === false || this.#runtime.live.goneTools.has(tool);
  }

  #rules(): OperatorLimits["toolRules"] {
    const { config, live } = this.#runtime;
    if (this.#limits?.config !== config)
      this.#limits = { config, toolRules: operatorLimitsOf(config, live.gateway?.domain).toolRules };
    return this.#limits.toolRules;
  }
}
