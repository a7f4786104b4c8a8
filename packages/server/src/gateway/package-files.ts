import { realpathSync, statSync } from "node:fs";
import { isAbsolute, join, relative, sep } from "node:path";
import type { Issue } from "@sallyport/protocol";
import { readAtMost } from "../config/load.ts";
import { readYaml, type YamlSource } from "../config/yaml-source.ts";

const MAX_BYTES = 1024 * 1024;

/** A file of the package that was read: what it says, and where in it. */
export interface PackageFile {
  /** Relative to the package, as issues name it. */
  name: string;
  yaml: YamlSource;
}

/** Why a file cannot be used, without its place: whoever names the file says where. */
type Unusable = Pick<Issue, "reason" | "suggestion">;

/** The files of one domain package. Nothing outside of its folder is ever read, whatever links say. */
export class PackageFiles {
  /** Where it really is. */
  readonly folder: string;

  /** Throws what the system throws when there is no such folder. */
  constructor(folder: string) {
    this.folder = realpathSync(folder);
    if (!statSync(this.folder).isDirectory()) throw new Error(`${folder} is no folder`);
  }

  /** Reads YAML or JSON. `unusable` when there is no such file in the package, `issues` when its text is wrong. */
  read(name: string): PackageFile | { unusable: Unusable } | { issues: Issue[] } {
    const text = this.#text(name);
    if (typeof text !== "string") return { unusable: text };
    const yaml = readYaml(text, name);
    return Array.isArray(yaml) ? { issues: yaml } : { name, yaml };
  }

  /** Why a file or folder of the package cannot be used; undefined when it is there. */
  trouble(name: string, kind: "file" | "folder"): Unusable | undefined {
    const path = this.#inside(name);
    if (typeof path !== "string") return path;
    const isKind = kind === "file" ? statSync(path).isFile() : statSync(path).isDirectory();
    return isKind ? undefined : { reason: `"${name}" is no ${kind}` };
  }

  #text(name: string): string | Unusable {
    const trouble = this.trouble(name, "file");
    if (trouble) return trouble;
    const bytes = readAtMost(join(this.folder, name), MAX_BYTES + 1);
    if (bytes.length > MAX_BYTES) return { reason: `"${name}" is larger than ${MAX_BYTES} bytes` };
    try {
      return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    } catch {
      return { reason: `"${name}" is not text in UTF-8` };
    }
  }

  #inside(name: string): string | Unusable {
    const suggestion = "Name a file inside the folder of the package, by a path relative to it.";
    if (isAbsolute(name)) return { reason: `"${name}" is an absolute path`, suggestion };
    try {
      const real = realpathSync(join(this.folder, name));
      const way = relative(this.folder, real);
      if (way !== ".." && !way.startsWith(`..${sep}`) && !isAbsolute(way)) return real;
      return { reason: `"${name}" leads outside of the package`, suggestion };
    } catch (error) {
      const isMissing =
        error instanceof Error && "code" in error && ["ENOENT", "ENOTDIR"].includes(String(error.code));
      if (isMissing) return { reason: `there is no "${name}" in the package`, suggestion };
      return {
        reason: `"${name}" cannot be read: ${error instanceof Error ? error.message : String(error)}`,
      };
    }
  }
}
