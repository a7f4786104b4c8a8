import { createRequire } from "node:module";

const { version } = createRequire(import.meta.url)("../package.json") as { version: string };

/** The version of the package this file belongs to. */
export const VERSION = version;
