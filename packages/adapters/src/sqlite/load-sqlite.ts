type Sqlite = typeof import("node:sqlite");

/**
 * Loads node:sqlite without its ExperimentalWarning, which some Node 24 releases print once per thread. Only that
 * one warning is held back, and only while the module loads.
 */
export function loadSqlite(): Sqlite {
  const emitWarning = process.emitWarning;
  process.emitWarning = (...warning: unknown[]) => {
    if (!`${warning[0]}`.startsWith("SQLite is an experimental feature")) {
      Reflect.apply(emitWarning, process, warning);
    }
  };
  try {
    return process.getBuiltinModule("node:sqlite");
  } finally {
    process.emitWarning = emitWarning;
  }
}
