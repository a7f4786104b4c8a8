import type { Bus, Engine, Store } from "@sallyport/engine";
import { type Failure, failure, SallyportError } from "@sallyport/protocol";
import { type OpenAuthority, openAuthority } from "../authority.ts";
import { type LoadedConfig, readConfig, wrongConfig } from "../config/load.ts";
import { operatorLimitsOf } from "../operator-limits.ts";
import type { PolicyFiles } from "../policy/policy-files.ts";
import { changedKeys, inForce } from "./changed-keys.ts";
import type { LiveHouse } from "./live-house.ts";
import { refuseLostSections } from "./lost-sections.ts";
import { planTools, type ToolPlan } from "./plan-tools.ts";
import {
  type ComparedTools,
  changesOf,
  compareTools,
  switchTools,
  type ToolChanges,
  tryTools,
} from "./switch-tools.ts";

/** An open house, as far as a reload concerns it. What it replaces here nobody else may. */
export interface ReloadableHouse {
  config: LoadedConfig;
  readonly engine: Engine;
  readonly store: Store;
  rules?: PolicyFiles;
  readonly live: LiveHouse;
}

/** What a reload has come to. */
export type ReloadReport =
  | {
      ok: true;
      /** Undefined when everything is a default. */
      file: string | undefined;
      /** Keys that have another value from now on. */
      applied: string[];
      /** Keys that changed and count only from the next start. */
      needsRestart: string[];
      tools: ToolChanges;
    }
  /** Nothing has changed. */
  | { ok: false; failure: Failure };

/**
 * Reads the configuration, the rules and the tools again and puts them into force all at once; when any of it is wrong,
 * what was in force stays, and the report says what and where. Never rejects for what is in a file.
 */
export function reloadHouse(house: ReloadableHouse): Promise<ReloadReport> {
  return house.live.inTurn(async () => {
    try {
      return await reload(house);
    } catch (error) {
      if (error instanceof SallyportError) return { ok: false, failure: error.failure };
      throw error;
    }
  });
}

async function reload(house: ReloadableHouse): Promise<ReloadReport> {
  const read = readAgain(house.config);
  const config = inForce(house.config, read);
  const opened = openRules(config, house.live);
  try {
    const plan = await planTools(config, { live: house.live, shelf: house.engine.tools });
    if (Array.isArray(plan)) throw refusalOf(plan);
    const refusals = await tryTools(plan, { store: house.store, maxVersions: config.limits.versionsPerTool });
    if (refusals.length > 0) throw refusalOf(refusals);
    const compared = compareTools(plan, house.engine.tools);
    const refused = await switchTools(compared, house.engine.tools);
    if (refused) throw new SallyportError(refused);
    const keys = changedKeys(house.config, read);
    putInForce(house, { config, opened, plan, compared });
    return { ok: true, file: read.file, ...keys, tools: changesOf(compared) };
  } catch (error) {
    opened.drop();
    throw error;
  }
}

function readAgain(before: LoadedConfig): LoadedConfig {
  const read = readConfig(before.place);
  if (!read.ok) throw wrongConfig(read.issues);
  refuseLostSections(before, read);
  return read.config;
}

interface OpenRules {
  authority: OpenAuthority;
  /** Ends what they listen to. */
  drop(): void;
}

/** The authority that the new configuration would open with; only its rules are taken over. */
function openRules(config: LoadedConfig, { bus, errors }: LiveHouse): OpenRules {
  const stops: (() => void)[] = [];
  const drop = () => {
    for (const stop of stops.splice(0)) stop();
  };
  const following: Bus = {
    publish: (channel, message) => bus.publish(channel, message),
    subscribe: (channel, listener) => {
      const stop = bus.subscribe(channel, listener);
      stops.push(stop);
      return stop;
    },
  };
  return { authority: openAuthority(config, { bus: following, errors }), drop };
}

interface Next {
  config: LoadedConfig;
  opened: OpenRules;
  plan: ToolPlan;
  compared: ComparedTools;
}

/** From here on nothing can fail, and nobody sees a part of it. */
function putInForce(house: ReloadableHouse, { config, opened, plan, compared }: Next): void {
  const { live, engine } = house;
  const { admission, toolRules } = operatorLimitsOf(config);
  const { authority, rules } = opened.authority;
  live.authority.adopt(authority);
  engine.adjust({
    admission,
    toolRules: (tool) => (compared.goneTools.has(tool) ? { enabled: false } : toolRules(tool)),
  });
  live.dropPolicies();
  live.dropPolicies = opened.drop;
  live.modules = plan.modules;
  house.config = config;
  if (rules) house.rules = rules;
  else delete house.rules;
  live.bus.publish("policy:updates", {});
  live.tell(config);
}

/** One failure for all that is wrong. */
function refusalOf(problems: readonly Failure[]): SallyportError {
  const [first = failure("E3920")] = problems;
  if (problems.length === 1) return new SallyportError(first);
  const issues = problems.map(({ code, message }) => ({ path: code, reason: message }));
  return new SallyportError(
    failure(first.code, { message: `${problems.length} tools cannot be had.`, issues }),
  );
}
