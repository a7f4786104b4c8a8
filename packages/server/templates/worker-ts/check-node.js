// Plain JavaScript that every Node reads: an older one would find no test in TypeScript, and call that a success.
if (Number(process.versions.node.split(".")[0]) < 24) {
  console.error(`This worker needs Node 24 or newer; this is Node ${process.versions.node}.`);
  process.exit(1);
}
