import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { openWorkspaces } from "@sallyport/adapters/workspace";
const folder = mkdtempSync("/tmp/benchh/c-"); mkdirSync(`${folder}/w`); for (let i = 0; i < 100; i++) writeFileSync(`${folder}/w/f${i}`, "x".repeat(1024));
const ws = await openWorkspaces({ folder: `${folder}/s` });
const st = ws.begin({ callId: "a", rules: { root: `${folder}/w`, writable: true, denied: [] }, maxBytes: 1e7 });
for (let i = 0; i < 100; i++) await st.files.write(`f${i}`, "y".repeat(1024));
writeFileSync("/dev/null", "MARK1"); const a = performance.now(); const r = await st.apply(); const b = performance.now(); await st.keep(); const c = performance.now(); writeFileSync("/dev/null", "MARK2");
console.log(r.ok, "apply", (b - a).toFixed(1), "keep", (c - b).toFixed(1)); rmSync(folder, { recursive: true });
