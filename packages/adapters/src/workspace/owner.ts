/** Whether this process may change whose a file is, and is stopped by no mode. */
export function isRoot(): boolean {
  return process.getuid?.() === 0;
}
