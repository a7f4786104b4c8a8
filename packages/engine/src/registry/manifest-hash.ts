import { createHash } from "node:crypto";
import { canonicalJson, type ToolManifest } from "@sallyport/protocol";

/** SHA-256 of the manifest's canonical JSON. Throws a TypeError for a manifest that is not JSON. */
export function manifestHash(manifest: ToolManifest): string {
  return createHash("sha256")
    .update(canonicalJson(asJson(manifest)))
    .digest("hex");
}

/** The type has no index signature, but a manifest is JSON; canonicalJson checks that it really is. */
function asJson(manifest: ToolManifest): Parameters<typeof canonicalJson>[0] {
  return manifest as object as Parameters<typeof canonicalJson>[0];
}
