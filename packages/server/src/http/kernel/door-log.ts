/** Where the door reports; pino fits. Fields never hold a credential. */
export interface DoorLog {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}
