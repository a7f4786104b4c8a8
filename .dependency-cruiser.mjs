/** The arrows between packages and modules (docs/decisions/0002-packages-and-arrows.md). A wrong one, or a cycle, fails the check. */
const MODULES = "admit|audit|authorise|effects|execute|publish|registry|telemetry|validate";

export default {
  forbidden: [
    {
      name: "no-cycles",
      comment: "Of types neither: tsPreCompilationDeps makes type-only imports count.",
      severity: "error",
      from: {},
      to: { circular: true },
    },
    {
      name: "protocol-depends-on-nothing",
      severity: "error",
      from: { path: "^packages/protocol/src", pathNot: "\\.test\\.ts$|/fixtures/" },
      to: { pathNot: "^packages/protocol/src" },
    },
    {
      name: "worker-depends-on-protocol",
      comment:
        "Authors of workers install it: nothing but protocol and the parts of Node that a server and its secret need.",
      severity: "error",
      from: { path: "^packages/worker/src", pathNot: "\\.test\\.ts$" },
      to: { pathNot: ["^packages/(worker|protocol)/src", "^(node:)?(http|net|crypto|fs)$"] },
    },
    {
      name: "engine-depends-on-protocol",
      severity: "error",
      from: { path: "^packages/engine" },
      to: { path: "^packages/(loop|adapters|server|worker|client)" },
    },
    {
      name: "loop-depends-on-engine",
      severity: "error",
      from: { path: "^packages/loop" },
      to: { path: "^packages/(adapters|server|worker|client)" },
    },
    {
      name: "client-depends-on-protocol",
      severity: "error",
      from: { path: "^packages/client" },
      to: { path: "^packages/(?!protocol|client)" },
    },
    {
      name: "client-runs-in-browsers",
      comment: "Only the cache on disk is for Node.",
      severity: "error",
      from: { path: "^packages/client/src", pathNot: "\\.test\\.ts$|/fixtures/|/disk-cache\\.ts$" },
      to: { dependencyTypes: ["core"] },
    },
    {
      name: "engine-has-no-network-and-no-driver",
      severity: "error",
      from: {
        path: "^packages/(engine|loop)/src",
        pathNot: "\\.test\\.ts$|-contract\\.ts$|/testing/|/fixtures/",
      },
      to: { path: "^(node:)?(http|https|http2|net|tls|dgram|dns|sqlite|child_process|fs)(/|$)" },
    },
    {
      name: "adapters-do-not-depend-on-server",
      severity: "error",
      from: { path: "^packages/adapters" },
      to: { path: "^packages/(server|worker|client)" },
    },
    {
      name: "only-the-passage-sees-every-module",
      comment:
        "A module knows itself, the ports, the shared data structures and timers, and how names are matched and secrets redacted; passage, journal, approvals, queue, running and admin put modules together.",
      severity: "error",
      from: { path: `^packages/engine/src/(${MODULES})/`, pathNot: "\\.test\\.ts$" },
      to: {
        path: "^packages/engine/src/",
        pathNot: [
          "^packages/engine/src/(ports|match|redact)/",
          "^packages/engine/src/(change-follower|lru-map|map-methods|wait-until|timeouts)\\.ts$",
          "^packages/engine/src/$1/",
        ],
      },
    },
    {
      name: "tests-stay-out-of-the-product",
      severity: "error",
      from: { path: "^packages/.*/src", pathNot: "\\.test\\.ts$|-contract\\.ts$|/testing/|/fixtures/" },
      to: { path: "\\.test\\.ts$|/(engine|loop)/src/testing/|/fixtures/" },
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
