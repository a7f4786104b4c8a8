const KIB = 1024;
const MIB = 1024 * KIB;

/** The upper bounds of the histograms' buckets: where L3 part 2 names them (L3P2-5), those; otherwise what tells apart. */
export const BUCKETS = {
  execution: [0.1, 0.5, 1, 5, 10, 30, 60, 120, 300],
  permission: [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1],
  cpu: [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10, 60],
  io: [KIB, 10 * KIB, 100 * KIB, MIB, 10 * MIB],
  memory: [MIB, 4 * MIB, 16 * MIB, 64 * MIB, 256 * MIB, 1024 * MIB, 4096 * MIB],
};
