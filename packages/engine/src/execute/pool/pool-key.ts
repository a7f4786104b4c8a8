import { createHash } from "node:crypto";
import { canonicalJson, type JsonValue } from "@sallyport/protocol";
import type { ScriptSpec } from "../runners/script-spec.ts";

/**
 * A name for everything that makes a process what it is: its sandbox (level, mounts, limits, hosts, bounds …), its
 * module, tool and version, and for whom it was started. Only equal specs have equal keys, so a process that waits
 * under a key is the one that the next call with that key would have started itself.
 */
export function poolKey(spec: ScriptSpec): string {
  const { wanted, order, link, principal } = spec;
  const plain: JsonValue = JSON.parse(JSON.stringify({ wanted, order, link, principal }));
  return createHash("sha256").update(canonicalJson(plain)).digest("base64url");
}
