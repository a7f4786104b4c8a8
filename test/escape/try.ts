import { makeWorkshop, removeWorkshop, runPass } from "./run-pass.ts";

/* For work on the corpus: `node test/escape/try.ts bubblewrap|crun|runc|nested|none root|unprivileged [part of a name]`. */

const [backend = "bubblewrap", host = "root", only] = process.argv.slice(2);
const isOci = backend === "crun" || backend === "runc";
const startedAt = performance.now();
const workshop = makeWorkshop();
try {
  const { results, hostHarm } = await runPass(
    workshop,
    {
      backend: isOci ? "oci" : backend === "none" ? "none" : "bubblewrap",
      ...(isOci && { ociRuntime: backend }),
      ...(backend === "nested" && { nested: true }),
      host: host === "root" ? "root" : "unprivileged",
      selection: backend === "none" ? "bites" : "all",
    },
    only,
  );
  for (const { family, name, ending, refusedBy, wallMs, usage, problems, stdout, stderr } of results) {
    const word = problems.length > 0 ? "PROBLEM" : "ok     ";
    const used = `${wallMs} ms, ${usage.cpuMs} ms cpu, ${usage.memoryPeakBytes >> 20} MiB`;
    console.log(`${word} ${family}: ${name}: ${ending} ${refusedBy.join(",")} (${used})`);
    if (problems.length > 0)
      console.log(`        ${problems.join("\n        ")}\n--- ${stdout}\n--- ${stderr}\n---`);
  }
  console.log("host:", hostHarm.length === 0 ? "unharmed" : hostHarm);
  const failed = results.filter(({ problems }) => problems.length > 0).length;
  console.log(
    `${results.length} attempts, ${failed} with problems, ${Math.round(performance.now() - startedAt)} ms`,
  );
} finally {
  removeWorkshop(workshop);
}
