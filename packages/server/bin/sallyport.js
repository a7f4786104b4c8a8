#!/usr/bin/env node
// Plain JavaScript that Node 18 can read, here and in newer-node.js: an older Node gets a sentence, or the newer one of this installation.
const OLDEST_NODE = 24;

if (Number(process.versions.node.split(".")[0]) >= OLDEST_NODE) await import("./main.ts");
else (await import("./newer-node.js")).runWithNode(OLDEST_NODE);
