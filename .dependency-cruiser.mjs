/** The house's arrows (docs/decisions/0002-packages-and-arrows.md). A wrong one, or a cycle, fails the check. */
const ROOMS = "admit|approve|audit|authorise|effects|execute|journal|registry|telemetry|validate";

export default {
  forbidden: [
    {
      name: "no-cycles",
      severity: "error",
      from: {},
      to: { circular: true, viaOnly: { dependencyTypesNot: ["type-only"] } },
    },
    {
      name: "protocol-depends-on-nothing",
      severity: "error",
      from: { path: "^packages/protocol/src", pathNot: "\\.test\\.ts$" },
      to: { pathNot: "^packages/protocol/src" },
    },
    {
      name: "engine-depends-on-protocol",
      severity: "error",
      from: { path: "^packages/engine" },
      to: { path: "^packages/(adapters|server|worker|client)" },
    },
    {
      name: "engine-has-no-network-and-no-driver",
      severity: "error",
      from: { path: "^packages/engine/src", pathNot: "\\.test\\.ts$|-contract\\.ts$|/testing/|/fixtures/" },
      to: { path: "^(node:)?(http|https|http2|net|tls|dgram|dns|sqlite|child_process|fs)(/|$)" },
    },
    {
      name: "adapters-do-not-depend-on-server",
      severity: "error",
      from: { path: "^packages/adapters" },
      to: { path: "^packages/server" },
    },
    {
      name: "only-call-sees-every-room",
      comment:
        "A room knows itself, the ports, and how names are matched and secrets redacted; what several rooms need together is put together in call/.",
      severity: "error",
      from: { path: `^packages/engine/src/(${ROOMS})/`, pathNot: "\\.test\\.ts$" },
      to: {
        path: "^packages/engine/src/",
        pathNot: ["^packages/engine/src/(ports|match|redact)/", "^packages/engine/src/$1/"],
      },
    },
    {
      name: "tests-stay-out-of-the-product",
      severity: "error",
      from: { path: "^packages/.*/src", pathNot: "\\.test\\.ts$|-contract\\.ts$|/testing/|/fixtures/" },
      to: { path: "\\.test\\.ts$|/engine/src/testing/|/fixtures/" },
    },
  ],
  options: {
    doNotFollow: { path: "node_modules" },
    exclude: { path: "/dist/" },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: "tsconfig.json" },
    enhancedResolveOptions: {
      extensions: [".ts", ".js", ".mjs"],
      exportsFields: ["exports"],
      conditionNames: ["import", "node"],
    },
  },
};
