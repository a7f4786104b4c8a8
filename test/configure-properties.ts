import fc from "fast-check";
import { countOf, seedOf } from "./counts.ts";

// Packages do not import from here.
process.env.SALLYPORT_SIMULATED_WORLDS = String(countOf("SALLYPORT_SIMULATED_WORLDS"));

// A vitest setup file: properties without a count of their own get this one, and all of them this seed.
fc.configureGlobal({ seed: seedOf(), numRuns: countOf("SALLYPORT_PROPERTY_RUNS") });
