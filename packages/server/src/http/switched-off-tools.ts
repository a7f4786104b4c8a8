import type { ToolShelf } from "@sallyport/engine";
import { isFailure, type ToolManifest } from "@sallyport/protocol";
import type { LoadedConfig } from "../config/load.ts";
import { type OperatorLimits, operatorLimitsOf } from "../operator-limits.ts";
import type { ReloadReport } from "../reload/reload-house.ts";

interface Watched {
  /** The one in force: a reload replaces it. */
  readonly config: LoadedConfig;
  readonly engine: { readonly tools: Pick<ToolShelf, "list" | "resolve"> };
}

/**
 * The tools that the operator lets nobody call for now: those that `toolLimits` switch off, and those of which a reload
 * found no version any more. Calls of both are refused with E3014.
 */
export class SwitchedOffTools {
  readonly #house: Watched;
  #limits: { config: LoadedConfig; toolRules: OperatorLimits["toolRules"] } | undefined;
  /** As `id@version`. */
  #gone: ReadonlySet<string> = new Set();

  constructor(house: Watched) {
    this.#house = house;
  }

  has(tool: string): boolean {
    return this.#rules()(tool)?.enabled === false || this.#isGone(tool);
  }

  /** To be told of every reload. */
  note(report: ReloadReport): void {
    if (report.ok) this.#gone = new Set(report.tools.gone);
  }

  #rules(): OperatorLimits["toolRules"] {
    const { config } = this.#house;
    if (this.#limits?.config !== config)
      this.#limits = { config, toolRules: operatorLimitsOf(config).toolRules };
    return this.#limits.toolRules;
  }

  #isGone(tool: string): boolean {
    if (this.#gone.size === 0) return false;
    const { tools } = this.#house.engine;
    const versions = tools
      .list()
      .map(({ manifest }) => manifest)
      .filter((manifest) => manifest.id === tool && hasCode(manifest, tools));
    return versions.length > 0 && versions.every(({ version }) => this.#gone.has(`${tool}@${version}`));
  }
}

function hasCode({ id, version, operations }: ToolManifest, tools: Pick<ToolShelf, "resolve">): boolean {
  const operation = Object.keys(operations)[0] ?? "";
  const found = tools.resolve({ tool: id, version, operation });
  return !isFailure(found) && found.implementation !== undefined;
}
