import { readFileSync } from "node:fs";
import { type FileOp, perform, performAll } from "./file-ops.ts";

/* A process in a view: does what a JSON file says, in the folder it is given. `strict`: what fails ends it. */

interface Orders {
  strict: boolean;
  ops: FileOp[];
}

const [root = "", file = ""] = process.argv.slice(2);
const { strict, ops } = JSON.parse(readFileSync(file, "utf8")) as Orders;
process.umask(0o022);
if (strict) for (const op of ops) await perform(root, op);
else await performAll(root, ops);
